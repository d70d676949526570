"""`parley hangup`: ends a call, whichever machine of the bus has it."""

from __future__ import annotations

import argparse

from gateway.commands.shared.bus import act, asking
from gateway.commands.shared.options import add_config

NAME = "hangup"
HELP = "end a call, whichever machine of the bus has it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("call", help="its name in the log, as `parley calls` has it")
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """Do it; give 1 where nobody has the call."""
    bus = asking(args)
    return 2 if bus is None else act(bus, "hang_up", args.call)
