"""The commands of `parley`: each module here is one, found by its file; `shared/` is theirs.

A module offers NAME, HELP, `add_arguments(parser)` and `run(args) -> int` (the exit status).
It imports what is slow inside `run`, so that `parley --help` stays instant.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Protocol, cast

ORDER = ("serve", "link", "call", "logs", "report", "turns", "say", "transcribe", "models", "check")
"""How `parley --help` lists them; any other follows by its name."""


class Command(Protocol):
    """What a module of this package offers."""

    NAME: str
    HELP: str
    "one line, beginning with a verb"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare what the command takes."""

    def run(self, args: argparse.Namespace) -> int:
        """Do it; give the exit status: 0 done, 1 failed, 2 wrong use or configuration."""


def commands() -> Mapping[str, str]:
    """Return the module of each command, by the command's name, in the order of the help."""
    found = {
        module.name.replace("_", "-"): f"{__name__}.{module.name}"
        for module in pkgutil.iter_modules(__path__)
        if not module.ispkg
    }
    first = [name for name in ORDER if name in found]
    return {name: found[name] for name in [*first, *sorted(found.keys() - set(ORDER))]}


def load(module: str) -> Command:
    """Import one command."""
    return cast(Command, importlib.import_module(module))


def all_commands() -> Iterator[Command]:
    """Import every command, in the order of the help."""
    for module in commands().values():
        yield load(module)
