"""`python -m bench.frames [--steps]`: what a frame of a call costs, and in which functions."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence

import structlog

from bench.frames.calls import Frames
from bench.frames.steps import Steps

SHOWN = 40
"""Functions in the table of steps."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.frames", description=__doc__)
    parser.add_argument("--calls", type=int, nargs="+", default=[1, 10, 50, 100])
    parser.add_argument("--frames", type=int, default=400, help="that each call is held for")
    parser.add_argument("--rounds", type=int, default=5, help="of which the cheapest counts")
    parser.add_argument("--steps", action="store_true", help="steps of the interpreter, not time")
    options = parser.parse_args(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    if options.steps:
        _steps(options.frames)
        return 0
    print("calls  microseconds a frame  ms per call and second")
    for calls in options.calls:
        costs = [Frames(calls).run(options.frames) for _ in range(options.rounds)]
        least = min(each.microseconds for each in costs)
        print(f"{calls:5}  {least:20.1f}  {least * 0.05:22.2f}", flush=True)
    return 0


def _steps(frames: int, calls: int = 4) -> None:
    """Print how many steps of the interpreter a frame takes in which function."""
    steps = Steps()
    Frames(calls).run(frames, steps.around)
    each = calls * frames
    print(f"steps a frame: {steps.total / each:.0f}")
    for name, taken in steps.by_function.most_common(SHOWN):
        print(f"{taken / each:8.1f}  {100 * taken / steps.total:4.1f} %  {name}")


if __name__ == "__main__":
    sys.exit(main())
