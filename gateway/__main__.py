"""The command line: finds the command, runs it, and turns mistakes into messages.

Messages go to standard error and results to standard output; the exit status is 0 for done, 1 for
a failure, 2 for wrong use or configuration.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import NoReturn

from gateway.commands import Command, all_commands, commands, load
from gateway.plumbing.toml_file import TomlError

INTERRUPTED = 130
"""128 + SIGINT, as shells report it."""


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong, as everything else here does."""

    def error(self, message: str) -> NoReturn:
        """End with what is wrong, and where more is said."""
        said = message.removeprefix("argument ")
        self.exit(2, f"{self.prog}: {said} ({self.prog} --help says more)\n")


def parser(found: Sequence[Command]) -> argparse.ArgumentParser:
    """Make the parser for these commands."""
    top = Parser(
        prog="parley",
        description="Answers phone calls and puts them through to a voice model.",
        epilog="parley COMMAND --help says more.",
    )
    top.add_argument("--version", action="store_true", help="print the version and end")
    group = top.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for each in found:
        inner = group.add_parser(each.NAME, help=each.HELP, description=_sentence(each.HELP))
        each.add_arguments(inner)
        inner.set_defaults(run=each.run)
    return top


def _sentence(said: str) -> str:
    return said[:1].upper() + said[1:] + ("" if said.endswith(".") else ".")


def _wanted(arguments: Sequence[str]) -> list[Command]:
    """Import the one command that is asked for, or all where that is not clear."""
    known = commands()
    if arguments and arguments[0] in known:
        return [load(known[arguments[0]])]
    return list(all_commands())


def _version() -> str:
    try:
        return version("parley")
    except PackageNotFoundError:
        return "unknown (not installed)"


def _messages_to_stderr() -> None:
    """Keep standard output for what was asked for; `serve` sets its messages up itself."""
    import structlog

    # Standard error as it is when something is said, not as it is now.
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))


def main(argv: Sequence[str] | None = None) -> int:
    """Run `parley` with these arguments and give the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names of files need not be text
            stream.reconfigure(errors="surrogateescape")
    top = parser(_wanted(arguments))
    args = top.parse_args(arguments)
    if args.version:
        print(f"parley {_version()}")
        return 0
    if args.command is None:
        top.print_help()
        return 2
    _messages_to_stderr()
    try:
        status = int(args.run(args))
        sys.stdout.flush()
        return status
    except TomlError as error:
        for line in str(error).splitlines():
            print(f"parley: {line}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output left (`parley logs | head`); that is no failure of ours.
        _forget_output()
        return 0
    except OSError as error:
        # What no command expects of its files: a disk that is full, a folder in place of a file.
        place = f"{error.filename}: " if error.filename is not None else ""
        print(f"parley: {place}{error.strerror or error}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:
            _forget_output()
        return 1


def _forget_output() -> None:
    """Let what was not printed go, so that it is not tried again at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
