"""`parley check`: says what will happen, and what is in the way."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gateway.commands.shared.options import add_config, add_json, print_json, settings

if TYPE_CHECKING:
    from gateway.commands.shared.checks import Finding
    from gateway.config import Settings

NAME = "check"
HELP = "check settings, models, hardware and reachability, and say what will happen"

MARKS = {"good": ("✓", "green"), "note": ("•", "yellow"), "wrong": ("✗", "bold red")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "--live",
        action="store_true",
        help="also ask the agents' models, voices, recognisers and tool servers, as a call would",
    )
    add_json(parser)
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """Print what was found; give 1 where calls could not be answered."""
    chosen = settings(args)
    found = []
    if args.json:
        found = list(_look(chosen, live=args.live))
        ok = all(each.state != "wrong" for each in found)
        print_json({"ok": ok, "findings": found})
        return 0 if ok else 1

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from gateway.observe.live import Paper

    paper = Paper(Console(highlight=False))
    about = ""
    for finding in _look(chosen, live=args.live):
        found.append(finding)
        row = Table.grid(padding=(0, 1))
        row.add_column(width=10, style="bright_black")
        row.add_column(width=1)
        row.add_column(ratio=1)
        mark, style = MARKS[finding.state]
        first = "" if finding.about == about else finding.about
        about = finding.about
        row.add_row(first, Text(mark, style), Text(finding.said))
        paper.print(row)
    return 1 if any(each.state == "wrong" for each in found) else 0


def _look(chosen: Settings, *, live: bool) -> Iterator[Finding]:
    from gateway.commands.shared.checks import look

    yield from look(chosen)
    if not live:
        return
    import asyncio
    import os

    from gateway.agents.library import AgentLibrary, shipped
    from gateway.commands.shared.live_checks import ask_all

    library = AgentLibrary(chosen.agents.folder, shipped())
    broken = library.problems()  # told already
    agents = [library.get(name) for name in library.names() if name not in broken]
    yield from asyncio.run(ask_all(agents, os.environ))
