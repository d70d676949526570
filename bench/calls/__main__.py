"""`python -m bench.calls response|cutins|load|soak`: what calls are like, measured."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from bench.calls import tables
from bench.calls.cutins import measure_cut_ins
from bench.calls.load import measure_load
from bench.calls.response import measure
from bench.calls.soak import measure_soak
from bench.calls.speech import SPEECH

TURNS = ("complete", "short_turn")
CLAIMS = ("complete", "interruption")


def parser() -> argparse.ArgumentParser:
    """Make the parser."""
    top = argparse.ArgumentParser(prog="python -m bench.calls", description=__doc__)
    kinds = top.add_subparsers(dest="what", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="one JSON document")
    spoken = argparse.ArgumentParser(add_help=False, parents=[common])
    spoken.add_argument("--speech", type=Path, default=SPEECH, help="folder with a manifest.csv")
    response = kinds.add_parser("response", parents=[spoken], help="how long callers wait")
    response.add_argument("--first", type=int, help="no more than so many recordings")
    cut_ins = kinds.add_parser("cutins", parents=[spoken], help="how soon the agent is silent")
    cut_ins.add_argument("--cuts", type=int, default=20)
    cut_ins.add_argument("--seed", type=int, default=1)
    cut_ins.add_argument("--together", type=int, default=1, help="callers at once")
    load = kinds.add_parser("load", parents=[spoken], help="many calls at once on one core")
    load.add_argument("--calls", type=int, default=25)
    load.add_argument("--seconds", type=float, default=60.0)
    load.add_argument("--record", action="store_true", help="with recordings")
    soak = kinds.add_parser("soak", parents=[common], help="many short calls")
    soak.add_argument("--calls", type=int, default=1000)
    return top


async def run(args: argparse.Namespace) -> list[tables.Result]:
    """Measure what is asked for."""
    match args.what:
        case "response":
            return [await measure(args.speech, TURNS, args.first)]
        case "cutins":
            found = await measure_cut_ins(args.speech, CLAIMS, args.cuts, args.seed, args.together)
            return [found]
        case "load":
            load = await measure_load(
                args.speech, TURNS, args.calls, args.seconds, record=args.record
            )
            return [load]
        case _:
            return [await measure_soak(args.calls)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; give 1 where something does not hold."""
    args = parser().parse_args(arguments)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        results = runner.run(run(args))
    problems = [problem for result in results for problem in result.problems()]
    if args.json:
        document: dict[str, Any] = {
            type(result).__name__.lower(): msgspec.to_builtins(result) for result in results
        }
        document["problems"] = problems
        print(msgspec.json.encode(document).decode())
    else:
        for result in results:
            print("\n".join(tables.table(result)), flush=True)
        print("\n".join(f"✗ {problem}" for problem in problems) or "✓ all of it holds")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
