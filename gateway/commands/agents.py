"""`parley agents`: what an agent's file may hold, for editors."""

from __future__ import annotations

import argparse

from gateway.commands.shared.options import complain, print_json

NAME = "agents"
HELP = "print the JSON schema of agents' files, by which editors complete and check them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "--schema", action="store_true", help="the schema, for a file beside the agents"
    )


def run(args: argparse.Namespace) -> int:
    """Print it."""
    if not args.schema:
        complain("parley agents prints one thing: --schema")
        return 2
    from gateway.agents.schema import schema

    print_json(schema())
    return 0
