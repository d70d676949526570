"""Random faults over calls on all lines, for as long as is asked for.

`python -m bench.faults [--minutes 30] [--calls 20] [--seed N]` holds so many calls at once over
Twilio's socket, SIP and WebRTC, with an agent whose model's server and tools fail in every way,
callers who vanish, and a machine and strangers that do what they like. Ends with 1 unless every
call has its end in the log, once, every recording can be read, calls were held on all lines, and
memory, descriptors and threads are flat: what they grow by over the second half, by a line through
what was held between calls there (least squares), is less than `FLAT`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import structlog
import uvloop

from bench.calls.gateway_process import GatewayProcess, gateway
from bench.faults.callers import LINES, Callers, agents, free_port, model_server, sections
from bench.faults.judge import Holdings, growth, log_lines, problems, uneven
from bench.faults.mischief import Mischief

PARTS = 12
"""In which the time is held; between them no call is in progress, and what is held is looked at."""

SHORTEST = 30.0
"""Seconds of a part."""

QUIET_SECONDS = 60.0
"""How long the last calls of a part may take to end."""


async def quiet(running: GatewayProcess) -> Holdings:
    """Wait until no call is in progress, and look at what is held then."""
    until = time.monotonic() + QUIET_SECONDS
    while time.monotonic() < until:
        try:
            if not (await asyncio.to_thread(running.health))["calls"]:
                break
        except OSError:
            pass
        await asyncio.sleep(0.5)
    await asyncio.sleep(5.0)
    return Holdings.of(running)


async def soak(folder: Path, minutes: float, calls: int, seed: int) -> list[str]:
    """Hold the calls, and print what came of them."""
    chance, sip_port = random.Random(seed), free_port()
    with model_server(seed) as port:
        chosen, within = sections(calls, sip_port), agents(folder, port)
        with gateway(chosen, agents=within, folder=folder) as running:
            callers = Callers(running, sip_port, chance)
            mischief = Mischief(running, sip_port, chance)
            held: list[Holdings] = []
            parts = max(4, min(PARTS, int(minutes * 60 / SHORTEST)))
            for part in range(parts):
                async with asyncio.TaskGroup() as group:
                    doing = group.create_task(mischief.run())
                    await callers.hold(calls, minutes * 60 / parts)
                    doing.cancel()
                held.append(now := await quiet(running))
                print(
                    f"part {part + 1} of {parts}: {callers.ended.total()} calls, "
                    f"{now.memory:.0f} MB, {now.descriptors} descriptors, {now.threads} threads",
                    flush=True,
                )
            status = running.stop(seconds=60.0)
        print(f"  ended by: {json.dumps(dict(callers.ended.most_common()))}")
        print(f"  done to it: {json.dumps(mischief.done)}")
        lines, _ = log_lines(folder / "log")
        begun = Counter(line.fields["line"] for line in lines if line.event == "call_started")
        refused = Counter(line.fields["cause"] for line in lines if line.event == "call_refused")
        print(f"  begun: {json.dumps(dict(begun))}, refused: {json.dumps(dict(refused))}")
        faults = Counter(str(line.fields["part"]) for line in lines if line.event == "fault")
        print(f"  in the log: {len(lines)} lines, faults {json.dumps(dict(faults.most_common()))}")
        rises = ", ".join(f"{name} {by:+.1f}" for name, by in growth(held).items())
        print(f"  over the second half: {rises}")
        found = [*problems(folder), *uneven(folder, held, LINES)]
        return found if status == 0 else [*found, f"the gateway ended with {status}"]


def main() -> int:
    """Run and judge."""
    options = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    options.add_argument("--minutes", type=float, default=30.0)
    options.add_argument("--calls", type=int, default=20)
    options.add_argument("--seed", type=int, default=random.randrange(10**6))
    options.add_argument("--keep", type=Path, help="leave log and recordings in this folder")
    given = options.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.ERROR)  # callers who vanish leave sockets that are written to
    print(f"{given.calls} calls for {given.minutes:g} minutes, seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="parley-faults-") as own:
        folder = given.keep or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            found = runner.run(soak(folder, given.minutes, given.calls, given.seed))
    for problem in found:
        print(f"✗ {problem}")
    if not found:
        print("every call ended once, every recording can be read, nothing is left over")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
