"""`parley transfer`: puts a caller through, whichever machine of the bus has the call."""

from __future__ import annotations

import argparse

from gateway.commands.shared.bus import act, asking
from gateway.commands.shared.options import add_config

NAME = "transfer"
HELP = "put a caller through, whichever machine of the bus has the call"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("call", help="its name in the log, as `parley calls` has it")
    parser.add_argument("to", help="a target that the agent's file names or allows")
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """Do it; give 1 where nobody has the call."""
    bus = asking(args)
    return 2 if bus is None else act(bus, "transfer", args.call, args.to)
