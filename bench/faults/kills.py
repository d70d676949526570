"""kill -9 of a whole gateway that holds calls, at random moments, again and again.

`python -m bench.faults.kills [--moments 100] [--calls 12] [--seed N]` starts a gateway, has callers
call on all lines, kills it, and starts the next in the same folder. Ends with 1 unless the log is
whole, every call in it has one end (`process lost` where it was in progress, with the tools named
that were at work), every recording can be read, and nothing is left to be finished.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import structlog
import uvloop

from bench.calls.gateway_process import gateway
from bench.faults.callers import Callers, agents, free_port, model_server, sections
from bench.faults.judge import log_lines, problems
from gateway.log_events import CallEndedLogged, DeedLogged
from gateway.observe.lines import LogLine

LATEST = 8.0
"""Seconds after the first call within which a gateway is killed."""

REASON = "process lost"


async def kill(folder: Path, within: Path, calls: int, chance: random.Random) -> None:
    """Start a gateway, which finishes what the last one left, and kill it while calls are held."""
    sip_port = free_port()
    with gateway(sections(calls, sip_port), agents=within, folder=folder) as running:
        callers = Callers(running, sip_port, random.Random(chance.random()))
        with suppress(ExceptionGroup):  # callers whose gateway is gone
            async with asyncio.TaskGroup() as group:
                holding = group.create_task(callers.hold(calls, LATEST * 10))
                await asyncio.sleep(chance.uniform(0.0, LATEST))
                running.process.send_signal(signal.SIGKILL)
                await asyncio.to_thread(running.process.wait)
                holding.cancel()


def undone(lines: Sequence[LogLine]) -> list[str]:
    """Say which calls of lost processes do not name the deeds that had begun and were not over."""
    begun: dict[str, Counter[str]] = {}
    for line in lines:
        if isinstance(line.told, DeedLogged):
            step = 1 if line.told.state == "begun" else -1
            begun.setdefault(line.call, Counter())[line.told.name] += step
    found = []
    for line in lines:
        if isinstance(line.told, CallEndedLogged) and line.told.reason == REASON:
            left = sorted((+begun.get(line.call, Counter())).elements())
            if left != (line.told.open_deeds or []):
                found.append(f"{line.call} names {line.told.open_deeds}, not {left}")
    return found


def unfinished(folder: Path) -> list[str]:
    """Say which processes' calls are still to be finished."""
    return [f"{path.name} is left" for path in folder.rglob("running/*.jsonl")]


async def kills(folder: Path, moments: int, calls: int, seed: int) -> list[str]:
    """Kill at so many moments; say what does not hold after the next start."""
    chance = random.Random(seed)
    with model_server(seed) as port:
        within = agents(folder, port)
        path = within / "faulty.toml"
        path.write_text(path.read_text().replace("timeout = 2", 'timeout = 2\neffect = "write"'))
        for number in range(1, moments + 1):
            await kill(folder, within, calls, chance)
            if number % 10 == 0:
                print(f"{number} of {moments} moments", flush=True)
        with gateway(sections(calls, free_port()), agents=within, folder=folder) as running:
            status = running.stop()
    lines, _ = log_lines(folder / "log")
    ended = [line.told for line in lines if isinstance(line.told, CallEndedLogged)]
    lost = [told for told in ended if told.reason == REASON]
    named = sum(len(told.open_deeds or ()) for told in lost)
    print(f"{len(ended)} calls, {len(lost)} of them lost and finished, {named} open deeds named")
    found = [*problems(folder), *undone(lines), *unfinished(folder)]
    found += [] if lost else ["no call was lost"]
    return found if status == 0 else [*found, f"the last gateway ended with {status}"]


def main() -> int:
    """Run and judge."""
    options = argparse.ArgumentParser(prog="python -m bench.faults.kills", description=__doc__)
    options.add_argument("--moments", type=int, default=100)
    options.add_argument("--calls", type=int, default=12)
    options.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = options.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.ERROR)
    print(f"{given.moments} kills beside {given.calls} calls, seed {given.seed}", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="parley-kills-") as own,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        found = runner.run(kills(Path(own), given.moments, given.calls, given.seed))
    for problem in found:
        print(f"✗ {problem}")
    if not found:
        print("whole lines, readable recordings, every call ended once, nothing left to finish")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
