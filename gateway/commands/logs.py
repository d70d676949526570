"""`parley logs`: tails the call log."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.commands.shared.options import (
    add_config,
    add_json,
    complain,
    print_json,
    settings,
    whole,
)

if TYPE_CHECKING:
    from gateway.observe.wanted import Wanted

NAME = "logs"
HELP = "tail the call log, for people or as JSON"

SHOWN_LINES = 200
"""About two dozen turns: more than a screen, found again by scrolling."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("-f", "--follow", action="store_true", help="go on as lines come")
    parser.add_argument(
        "--call",
        default="",
        metavar="ID",
        help="one call, by its id or SIP's Call-ID; the last letters do",
    )
    parser.add_argument(
        "-n",
        "--lines",
        type=whole(0),
        metavar="N",
        help=f"of how many of the last lines (default {SHOWN_LINES}; 0, or with a choice: all)",
    )
    parser.add_argument("--since", metavar="T", help="from then on: 90m, 2h, 1d, or a time")
    parser.add_argument("--until", metavar="T", help="up to then, told in the same way")
    parser.add_argument("--agent", default="", metavar="NAME", help="calls of one agent")
    parser.add_argument(
        "--search", default="", metavar="WORDS", help="lines that hold these words, said or written"
    )
    parser.add_argument("--file", type=Path, metavar="FILE", help="another log than the settings'")
    parser.add_argument(
        "--schema", action="store_true", help="print the JSON Schema of a line, and end"
    )
    add_json(parser)
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """Print the log, and follow it until interrupted."""
    if args.schema:
        from gateway.observe.vocabulary import schema

        print_json(schema())
        return 0

    from rich.console import Console

    from gateway.observe.live import Teller, batches

    path = args.file or Path(settings(args).log.path)
    if str(path) == "-":
        complain("log.path is `-`: the log goes to the standard output of `parley serve`")
        return 2
    if path.is_dir():
        complain(f"{'--file' if args.file else 'log.path'}: {path} is a folder")
        return 2
    if not args.follow and not path.exists():
        complain(f"there is no log at {path} yet; a call makes one")
        return 1
    try:
        wanted = _wanted(args)
    except ValueError as error:
        complain(str(error))
        return 2
    # What is asked for may be anywhere in the log.
    count = None if args.lines is None else args.lines or None
    if args.lines is None and wanted.everything:
        count = SHOWN_LINES
    teller = Teller(Console(highlight=False), wanted, raw=args.json)
    told = 0
    try:
        for lines in batches(path, count, args.follow):
            told += sum(teller.tell(raw) is not None for raw in lines)
    except BrokenPipeError:
        raise
    except OSError as error:
        complain(f"{path}: {error.strerror}")
        return 1
    if args.call and not told:
        complain(f"no call in {path} has an id that begins or ends with {args.call}")
        return 1
    if not wanted.everything and not told and not args.follow:
        complain(f"nothing in {path} is what was asked for")
        return 1
    return 0


def _wanted(args: argparse.Namespace) -> Wanted:
    """Read what is asked for; raise ValueError."""
    from gateway.observe.moments import as_written, parse_moment
    from gateway.observe.wanted import Wanted

    moments = {"since": "", "until": ""}
    for name in moments:
        if text := getattr(args, name):
            try:
                moments[name] = as_written(parse_moment(text, datetime.now(UTC)))
            except ValueError as error:
                raise ValueError(f"--{name}: {error}") from None
    return Wanted(args.call, moments["since"], moments["until"], args.agent, args.search)
