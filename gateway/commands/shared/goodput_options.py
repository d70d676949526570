"""What `parley goodput` takes: which calls come, what callers put up with, what runs where."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.commands.shared.options import number, seconds, whole

if TYPE_CHECKING:
    from gateway.goodput.arrivals import Lengths

LIMITERS = ("capacity", "rate", "ports", "files", "door")
LINES = ("twilio", "sip")


def add_course(parser: argparse.ArgumentParser) -> None:
    """Declare which calls come."""
    course = parser.add_argument_group("calls that come")
    course.add_argument(
        "--rates",
        type=_rates,
        default=(0.05, 0.1, 0.2),
        metavar="R,R,...",
        help="calls a second, tried upwards (0.05,0.1,0.2)",
    )
    course.add_argument(
        "--length",
        type=_lengths,
        default="exponential:30",
        metavar="LENGTH",
        help="of calls: SECONDS, uniform:FROM-TO, exponential:MEAN or lognormal:MEDIAN,SIGMA "
        "(exponential:30)",
    )
    course.add_argument(
        "--seconds",
        type=number(1, 86_400, of="a number of seconds"),
        default=60.0,
        help="measured of each rate (60)",
    )
    course.add_argument(
        "--settle",
        type=seconds,
        default=10.0,
        metavar="SECONDS",
        help="before, in which the calls come that would be there already (10)",
    )
    course.add_argument("--seed", type=whole(0), default=1, metavar="N", help="of all chances (1)")
    course.add_argument(
        "--say",
        type=Path,
        action="append",
        default=[],
        metavar="WAV",
        help="what callers say, any number; without: sentences by the embedded voice",
    )
    course.add_argument(
        "--cut-ins",
        type=number(0, 1),
        default=0.2,
        metavar="SHARE",
        help="of turns that are spoken into an answer (0.2)",
    )
    course.add_argument(
        "--pause",
        type=seconds,
        default=0.7,
        metavar="SECONDS",
        help="of the agent's silence after which it is the caller's turn (0.7)",
    )
    course.add_argument("--agent", default="", metavar="NAME")


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Declare by what turns are judged."""
    limits = parser.add_argument_group("what callers put up with")
    for flag, default, said in (
        ("--response", 2.0, "from the caller's last word to the answer"),
        ("--stop-delay", 0.6, "from a cut-in to the agent's silence"),
        ("--heard-error", 0.1, "by which the server may be wrong about what was heard"),
        ("--late-after", 0.02, "behind its schedule from which a frame is late"),
        ("--answer", 2.0, "from asking for a call to its being answered"),
    ):
        limits.add_argument(
            flag, type=seconds, default=default, metavar="SECONDS", help=f"{said} ({default:g})"
        )
    for flag, default, said in (
        ("--late", 0.02, "of a turn's frames that may be late"),
        ("--missing", 0.01, "of a turn's frames that may be missing"),
        ("--good", 0.95, "of turns that must be good"),
    ):
        limits.add_argument(
            flag, type=number(0, 1), default=default, metavar="SHARE", help=f"{said} ({default:g})"
        )
    limits.add_argument(
        "--limiter",
        action="append",
        choices=LIMITERS,
        default=[],
        help="whose refusals are counted apart; any other makes a rate invalid (capacity)",
    )


def add_processes(parser: argparse.ArgumentParser) -> None:
    """Declare what runs where, and what is watched."""
    who = parser.add_argument_group("processes")
    who.add_argument(
        "--line", choices=LINES, default="twilio", help="on which a gateway of one's own is called"
    )
    who.add_argument(
        "--processes", type=whole(1, 256), default=1, metavar="N", help="of a gateway of one's own"
    )
    who.add_argument(
        "--server-cores", type=_cores, default=(), metavar="N,N", help="for a gateway of one's own"
    )
    who.add_argument("--cores", type=_cores, default=(), metavar="N,N", help="for the callers")
    who.add_argument(
        "--server-pid", type=whole(1), metavar="PID", help="whose processor time is counted"
    )
    who.add_argument(
        "--stand-in",
        type=whole(1),
        action="append",
        default=[],
        metavar="PID",
        help="a process beside the server, whose being busy makes a rate invalid",
    )
    who.add_argument(
        "--log", type=Path, metavar="FILE", help="the server's call log, where it is Parley's"
    )


def _lengths(text: str) -> Lengths:
    from gateway.goodput.arrivals import parse_lengths

    try:
        return parse_lengths(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _rates(text: str) -> tuple[float, ...]:
    read = number(0, 1000, above=True, of="calls a second")
    return tuple(read(each) for each in text.split(","))


def _cores(text: str) -> tuple[int, ...]:
    import os

    there = os.cpu_count() or 1
    return tuple(whole(0, there - 1)(each) for each in text.split(","))
