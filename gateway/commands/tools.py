"""`parley tools`: what agents' tools have begun, and never ended."""

from __future__ import annotations

import argparse

from gateway.commands.shared.options import add_config, add_json, complain, print_json, settings

NAME = "tools"
HELP = "list what tools have begun and never ended, also before a crash"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "--open", action="store_true", help="the deeds of which no end is known, oldest first"
    )
    add_json(parser)
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """List them; a deed that runs just now is among them until it ends."""
    if not args.open:
        complain("parley tools has one list: --open")
        return 2

    from dataclasses import asdict

    from gateway.tools.store import Store, stores

    folder = settings(args).agents.data
    found = [
        {"store": path.name, **asdict(deed)}
        for path in stores(folder)
        for deed in Store(path).open_deeds()
    ]
    if args.json:
        print_json(found)
        return 0
    if not found:
        print("nothing is open")
    for deed in found:
        said = ", ".join(f"{name}={value}" for name, value in deed["arguments"].items())
        print(f"{deed['at']}  {deed['store']}  call {deed['call']}  {deed['name']}({said})")
    return 0
