"""`parley calls`: the calls in progress, on all machines of the bus."""

from __future__ import annotations

import argparse

from gateway.commands.shared.bus import asking
from gateway.commands.shared.options import add_config, add_json, complain, print_json

NAME = "calls"
HELP = "list the calls in progress on all machines of the bus, and who has which"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_json(parser)
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """List them, the oldest first."""
    bus = asking(args)
    if bus is None:
        return 2
    from msgspec import to_builtins

    from gateway.bus.client import calls

    try:
        found = calls(bus)
    except (OSError, ValueError) as error:
        complain(str(error))
        return 1
    if args.json:
        print_json([to_builtins(held) for held in found])
        return 0
    if not found:
        print("no call is in progress")
        return 0

    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bright_black")
    for column in ("since", "call", "line", "direction", "agent", "at"):
        table.add_column(column, no_wrap=column == "call")
    for held in found:
        table.add_row(held.since, held.call, held.line, held.direction, held.agent, held.node)
    Console(highlight=False).print(table)
    return 0
