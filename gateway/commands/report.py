"""`parley report`: sums the call log up."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from gateway.commands.shared.options import add_config, add_json, complain, print_json, settings

NAME = "report"
HELP = "sum the call log up: medians and 95th percentiles, cut-ins, drafts, tools, faults"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("--since", metavar="T", help="90m, 2h, 1d, or 2026-03-02T14:00")
    parser.add_argument("--file", type=Path, metavar="FILE", help="another log than the settings'")
    add_json(parser)
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """Print the report."""
    path = args.file or Path(settings(args).log.path)
    if str(path) == "-":
        complain("log.path is `-`: name the file it was written to with --file")
        return 2

    from gateway.observe.files import all_files
    from gateway.observe.moments import parse_moment
    from gateway.observe.report import report

    try:
        since = parse_moment(args.since, datetime.now(UTC)) if args.since else None
    except ValueError as error:
        complain(f"--since: {error}")
        return 2
    if path.is_dir():
        complain(f"{'--file' if args.file else 'log.path'}: {path} is a folder")
        return 2
    files = all_files(path)
    if not files:
        complain(f"there is no log at {path} yet; a call makes one")
        return 1
    found = report(files, since)
    if args.json:
        print_json(found)
    else:
        from rich.console import Console

        from gateway.observe.live import Paper
        from gateway.observe.sheet import sheet

        Paper(Console(highlight=False)).print(sheet(found))
    return 0
