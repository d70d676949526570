"""What the commands that ask over the bus share."""

from __future__ import annotations

import argparse
import getpass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from gateway.commands.shared.options import complain, settings

if TYPE_CHECKING:
    from gateway.bus.settings import BusSettings


def asking(args: argparse.Namespace) -> BusSettings | None:
    """Return how the bus is reached, and complain where it cannot be."""
    from gateway.observe.vocabulary import EVENTS, event_name

    chosen = settings(args).bus
    problem = chosen.problem(tuple(map(event_name, EVENTS)))
    if not chosen.url:
        problem = "bus.url is not set: calls of several machines are asked about over NATS"
    elif not problem and find_spec("nats") is None:
        problem = "bus.url needs NATS' client: install parley[bus]"
    if problem:
        complain(problem)
        return None
    return chosen


def act(bus: BusSettings, kind: Literal["hang_up", "transfer"], call: str, to: str = "") -> int:
    """Have it done; give 0 where it was, and complain where it was not."""
    from gateway.bus import client
    from gateway.bus.wire import Command

    try:
        problem = client.act(bus, Command(kind, call, _who(), to))
    except (OSError, ValueError) as error:
        problem = str(error)
    if problem:
        complain(problem)
    return 1 if problem else 0


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user has no name
        return "somebody"
