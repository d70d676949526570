"""Many calls at once on one core: frames on time, processor time, memory.

The gateway is pinned to one core and the callers to another; processor times are its own account
of its threads, so that what else the machine does changes the lateness alone.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.calls.gateway_process import GatewayProcess, gateway
from bench.calls.speech import recordings
from gateway.caller.measure import lateness, measure
from gateway.caller.network import NetworkSettings
from gateway.caller.phone import Phone
from gateway.caller.place import parse_target
from gateway.caller.plan import CallPlan, Say
from gateway.caller.sound import Recording
from gateway.caller.twilio import TwilioCaller
from gateway.log_events import TurnLogged

LATE = 0.005
"""Seconds after its schedule from which a frame is late."""

ON_TIME = 0.99
"""Share of frames that must not be late."""

CPU = 0.005
"""Processor seconds per call and second outside the models, at most."""

MEGABYTE = 1_000_000.0

FIRST = 5
"""Calls that are there before memory is measured: what is made once is made by then."""

APART = 0.13
"""Seconds between two calls that are placed."""

WARM_SECONDS = 12.0
"""How long the first calls talk before the others come."""

BY_AGENT = ("agent", "call ended")
"""Outcome of a call in which the agent said goodbye."""

MODELS = "model-"
"""What the threads are called in which models run."""


@dataclass(frozen=True, slots=True)
class Load:
    """What was measured."""

    calls: int
    "that were placed"
    held: int
    "that were not refused or cut: what a call costs is counted by these"
    seconds: float
    ticks: int
    late_ticks: int
    frames: int
    "agent's frames that arrived at the callers"
    late_frames: int
    missing_frames: int
    caller_late: float
    "99th percentile of the callers' own clocks, the grain of the two above"
    threads: dict[str, float]
    "processor seconds per call and second, by thread"
    memory: float
    "megabytes per further call"
    turns: int
    answered: int
    to_the_ear: float
    "95th percentile of the time from an answer's first sound here to the caller's ear, by the log"
    failures: tuple[str, ...]

    @property
    def own(self) -> float:
        """Processor seconds per call and second outside the models."""
        return sum(s for name, s in self.threads.items() if not name.startswith(MODELS))

    @property
    def models(self) -> float:
        """Processor seconds per call and second in the models."""
        return sum(s for name, s in self.threads.items() if name.startswith(MODELS))

    def problems(self) -> list[str]:
        """Return what does not hold."""
        found = list(self.failures)
        if self.missing_frames:
            found.append(f"{self.missing_frames} frames are missing")
        if self.late_ticks > (1 - ON_TIME) * self.ticks:
            found.append(f"{self.late_ticks} of {self.ticks} ticks are late")
        if self.late_frames > (1 - ON_TIME) * self.frames:
            found.append(f"{self.late_frames} of {self.frames} frames are late at the far end")
        if self.own > CPU:
            found.append(f"{self.own * 1000:.1f} ms per call and second outside the models")
        if self.memory > 1.0:
            found.append(f"{self.memory:.2f} MB per further call")
        return found


async def measure_load(
    speech: Path,
    kinds: Sequence[str],
    calls: int,
    seconds: float,
    *,
    record: bool = False,
    others: Mapping[str, Mapping[str, object]] | None = None,
) -> Load:
    """Hold so many calls at once for so long; `others` are further settings of the gateway."""
    sounds = recordings(speech, kinds)
    os.sched_setaffinity(0, callers_cores())
    sections = {
        "limits": {"calls": calls + 5},
        "recording": {"enabled": record},
        **(others or {}),
    }
    with gateway(sections, prefix=("taskset", "-c", "0")) as running:
        await _warm_up(running, sounds)
        # The callers' own collector would stop all their clocks for a tenth of a second.
        gc.collect()
        gc.disable()
        async with asyncio.TaskGroup() as group:
            held = [
                group.create_task(_hold(running, sounds, n, FIRST, seconds)) for n in range(FIRST)
            ]
            await asyncio.sleep(FIRST * APART + WARM_SECONDS)
            before = memory(running)
            held += [
                group.create_task(_hold(running, sounds, n, calls, seconds))
                for n in range(FIRST, calls)
            ]
            await asyncio.sleep((calls - FIRST) * APART + 1.0)
            start = await asyncio.to_thread(running.health)
            await asyncio.sleep(seconds)
            end = await asyncio.to_thread(running.health)
            after = memory(running)
        gc.enable()
        phones = [phone for each in held for phone in each.result()]
        ear = [
            line.told.stages.line for line in running.lines() if isinstance(line.told, TurnLogged)
        ]
    each = (after - before) / (calls - FIRST)
    return _load(calls, phones, start, end, seconds, each, float(np.percentile(ear, 95)))


def callers_cores() -> set[int]:
    """Return the cores that the gateway is not pinned to, if there are any."""
    return (os.sched_getaffinity(0) - {0}) or {0}


def memory(of: GatewayProcess) -> float:
    """Return the memory a process alone holds, in megabytes."""
    rollup = Path(f"/proc/{of.process.pid}/smaps_rollup").read_text()
    private = [line.split() for line in rollup.splitlines() if line.startswith("Private_")]
    return sum(int(fields[1]) for fields in private) * 1024 / MEGABYTE


async def _warm_up(to: GatewayProcess, sounds: Sequence[Recording]) -> None:
    """Let every model meet its longest question, so that its memory is there."""
    longest = max(sounds, key=lambda each: each.seconds)
    plan = CallPlan(steps=(Say(longest),), linger=0.3)
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(_call(to, plan))


async def _call(to: GatewayProcess, plan: CallPlan) -> Phone:
    line = TwilioCaller(parse_target(to.target).address)
    phone = Phone(plan, line.form, NetworkSettings())
    await line.call(line.new_id(), phone)
    return phone


async def _hold(
    to: GatewayProcess, sounds: Sequence[Recording], number: int, calls: int, seconds: float
) -> list[Phone]:
    """Hold a call beyond the end of the measurement, each with its own order of recordings.

    What the recordings happen to say can make the agent say goodbye: then one calls again.
    """
    first = 0 if calls == FIRST else FIRST
    await asyncio.sleep((number - first) * APART)
    turned = [*sounds[number % len(sounds) :], *sounds[: number % len(sounds)]]
    steps = tuple(Say(each) for each in turned * 10)
    lasts = seconds + 5.0 + (WARM_SECONDS + 5.0 if calls == FIRST else 0.0) + calls * APART
    loop = asyncio.get_running_loop()
    until = loop.time() + lasts
    phones = [await _call(to, CallPlan(steps=steps, hang_up_after=lasts))]
    while phones[-1].outcome == BY_AGENT and (left := until - loop.time()) > 0:
        phones.append(await _call(to, CallPlan(steps=steps, hang_up_after=left)))
    return phones


def _load(
    calls: int,
    phones: Sequence[Phone],
    start: dict[str, Any],
    end: dict[str, Any],
    seconds: float,
    each: float,
    to_the_ear: float,
) -> Load:
    figures = [measure(phone.tape) for phone in phones]
    late = np.concatenate([lateness(p.tape.arrivals, p.tape.form.rate) for p in phones])
    own = np.concatenate([np.array(p.schedule.lateness) for p in phones])
    outcomes = [phone.outcome or ("failure", "never ended") for phone in phones]
    held = calls - sum(by != "caller" and (by, why) != BY_AGENT for by, why in outcomes)
    spent = {
        name: (end["threads"][name] - start["threads"].get(name, 0.0)) / seconds / max(1, held)
        for name in end["threads"]
    }
    turns = [turn for figure in figures for turn in figure.turns]
    return Load(
        calls=calls,
        held=held,
        seconds=seconds,
        ticks=end["ticks"] - start["ticks"],
        late_ticks=end["late_ticks"] - start["late_ticks"],
        frames=len(late),
        late_frames=int((late > LATE).sum()),
        missing_frames=sum(figure.missing_or_late_frames for figure in figures),
        caller_late=float(np.percentile(own, 99)),
        threads=spent,
        memory=each,
        turns=len(turns),
        answered=sum(turn.response is not None for turn in turns),
        to_the_ear=to_the_ear,
        failures=tuple(
            sorted({why for by, why in outcomes if by != "caller" and (by, why) != BY_AGENT})
        ),
    )
