"""Fifty calls whose turns end together, on one core: are decisions late, and does audio suffer?

`python -m bench.together` pins itself to one core, asks the turn detector for all calls at once,
again and again, and watches the clock that paces every call's audio. Ends with 1 where more than
one tick in a hundred was over 5 ms late, or a question had neither an answer in time nor none.
"""

from __future__ import annotations

import asyncio
import os
import sys

import numpy as np
import uvloop

from gateway.call.pacer import Pacer
from gateway.process.serve import SWITCH_INTERVAL
from inference.runtime import Runtime, RuntimeSettings
from turn.semantic import TurnAssessor, TurnStream

CALLS = 50
ROUNDS = 12
APART = 2.0
"""Seconds between two rounds: fifty callers answer a question of some seconds no faster."""

DUE = 0.6
"""Seconds a decision may take: a turn that sounds finished is waited for no longer."""

SLACK = 0.02
"""Seconds by which an answer may come after it was due and still be one in time: one tick."""


async def _timed(stream: TurnStream) -> tuple[bool, float]:
    """Ask one call's question; give whether it was answered, and after how long."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    answer = await stream.assess(0, 32000, DUE)
    return answer.probability is not None, loop.time() - begun


async def main() -> int:
    """Measure and print."""
    assessor = TurnAssessor(Runtime(RuntimeSettings(workers=1)))
    assessor.warm()
    noise = np.random.default_rng(0)
    streams = [assessor.open(8000) for _ in range(CALLS)]
    for stream in streams:
        for _ in range(4):
            stream.feed((noise.normal(size=8000) * 2000).astype(np.int16))
    loop = asyncio.get_running_loop()
    pacer = Pacer()
    pacer.start()
    answered = unanswered = late = 0
    for _ in range(ROUNDS):
        begun = loop.time()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_timed(each)) for each in streams]
        for task in tasks:
            known, seconds = task.result()
            answered += known
            unanswered += not known
            late += seconds > DUE + SLACK
        await asyncio.sleep(max(0.0, APART - (loop.time() - begun)))
    pacer.stop()
    ticks = pacer.lateness
    share = ticks.over_5_ms / ticks.ticks
    print(f"{CALLS} turns ending together, {ROUNDS} times, on one core:")
    print(
        f"  {answered} answered in time, {unanswered} left to silence, {late} told later than due"
    )
    print(
        f"  {ticks.ticks} ticks of the audio's clock: {share:.2%} over 5 ms late, "
        f"worst {1000 * ticks.worst:.1f} ms"
    )
    return 0 if share <= 0.01 and not late else 1


if __name__ == "__main__":
    os.sched_setaffinity(0, {0})
    sys.setswitchinterval(SWITCH_INTERVAL)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sys.exit(runner.run(main()))
