"""`parley password`: prints the hash of a password, for `web.users`."""

from __future__ import annotations

import argparse
import getpass
import sys

from gateway.commands.shared.options import complain

NAME = "password"
HELP = "print the hash of a password, for somebody in web.users who looks at calls"

SHORTEST = 12
"""Characters; tries are few a minute (NIST SP 800-63B-4, section 3.1.1)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes: nothing, since what stands in a command is seen by others."""
    del parser


def run(args: argparse.Namespace) -> int:
    """Read a password, from a terminal twice or from standard input, and print its hash."""
    from gateway.doors.passwords import LONGEST, hashed

    del args
    if sys.stdin.isatty():
        password = getpass.getpass("Password: ")
        if getpass.getpass("Once more: ") != password:
            complain("these were two passwords")
            return 2
    else:
        password = sys.stdin.readline().rstrip("\n")
    if not SHORTEST <= len(password) <= LONGEST:
        complain(f"a password has {SHORTEST} to {LONGEST} characters")
        return 2
    print(hashed(password))
    return 0
