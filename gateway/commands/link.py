"""`parley link`: prints the address that opens the gateway's page as its owner."""

from __future__ import annotations

import argparse

from gateway.commands.shared.options import add_config, add_json, complain, print_json, settings

NAME = "link"
HELP = "print the link that opens the gateway's page, calls included, for this machine's owner"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "address",
        nargs="?",
        metavar="ADDRESS",
        help="as in https://voice.example.com; default: where the settings say it listens",
    )
    add_json(parser)
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """Print the link; give 1 where this user has no gateway's token."""
    from gateway.doors.owner import file_place, known_owner

    address = (args.address or settings(args).server.address).rstrip("/")
    try:
        owner = known_owner()
    except ValueError as error:
        complain(str(error))
        return 2
    if owner is None:
        complain(f"no token in {file_place()} that you may read; `parley serve` makes one")
        return 1
    if args.json:
        print_json({"link": owner.link(address), "token": owner.token, "kept": owner.place})
    else:
        print(owner.link(address))
    return 0
