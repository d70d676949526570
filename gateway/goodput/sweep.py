"""Places calls at one rate after the other, and has each rate judged when it is over."""

from __future__ import annotations

import asyncio
import gc
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gateway.caller.phone import CallerLine
from gateway.goodput.arrivals import Arrival, Lengths, arrivals
from gateway.goodput.callers import Habits, HeldCall, begin, plan
from gateway.goodput.curve import TARGET, Point, Usage, point
from gateway.goodput.judging import JudgedCall, Limits, judge_turn
from gateway.goodput.log_claims import LogTail, Told
from gateway.goodput.machine import cores_of, processor_seconds
from gateway.goodput.refusals import Limiter, own_limit, refusal
from gateway.goodput.turns import figures
from gateway.goodput.validity import Loads, problems

REST = 2.0
"""Seconds between two rates, in which the server puts the last calls away."""

NOTHING_TOLD = Told({}, {})


@dataclass(frozen=True, slots=True)
class Course:
    """Which calls come."""

    rates: Sequence[float]
    "calls a second"
    lengths: Lengths
    seconds: float
    "that are measured of each rate"
    settle: float
    "seconds before, in which the calls come that would be there already"
    seed: int
    target: float = TARGET
    "share of turns that must be good"
    beyond: int = 1
    "rates that are still tried after the first at which callers were not content"


@dataclass(frozen=True, slots=True)
class Watched:
    """Processes beside the callers', and who may turn calls away."""

    server: int | None = None
    "None: it is not known which it is"
    stand_ins: Mapping[str, int] = field(default_factory=dict)
    "beside the server, by what they are called"
    under_test: Sequence[Limiter] = ("capacity",)


@dataclass(frozen=True, slots=True)
class Trial:
    """What is tried at each rate, on whom, and how it is judged."""

    line: CallerLine
    course: Course
    habits: Habits
    limits: Limits
    watched: Watched
    log: LogTail | None = None
    "the server's call log; None: it is not known what it believes"


@dataclass(frozen=True, slots=True)
class _Reading:
    """What processes had used at a moment."""

    at: float
    callers: float
    server: float | None
    stand_ins: Mapping[str, float]
    cores: Collection[int]
    "that the callers are kept to"
    beside: Sequence[str]
    "stand-ins that are kept to the same"


async def sweep(trial: Trial, done: Callable[[Point], None]) -> list[Point]:
    """Try one rate after the other, the lowest first; `done` takes each as it is over."""
    course = trial.course
    found: list[Point] = []
    failed = 0
    for rate in sorted(course.rates):
        found.append(await _try(trial, rate))
        done(found[-1])
        failed += not (found[-1].valid and (found[-1].good or 0.0) >= course.target)
        if failed > course.beyond:
            break
        await asyncio.sleep(REST)
    return found


async def _try(trial: Trial, rate: float) -> Point:
    course = trial.course
    chance = random.Random(f"{course.seed}:{rate:g}")
    coming = arrivals(rate, course.settle, course.seconds, course.lengths, chance.random)
    loop = asyncio.get_running_loop()
    start = loop.time() + 0.1
    window = start + course.settle, start + course.settle + course.seconds
    # A turn that was begun within the time may be answered after it.
    last = course.settle + course.seconds + trial.limits.response + 0.5
    calls: list[HeldCall] = []
    # The callers' own collector would stop all their clocks for a tenth of a second.
    gc.collect()
    gc.disable()
    try:
        async with asyncio.TaskGroup() as group:
            for each in coming:
                group.create_task(_call(trial, each, start, last, chance.random(), calls))
            before = await _read_at(trial.watched, window[0])
            after = await _read_at(trial.watched, window[1])
    finally:
        gc.enable()
    usage = _usage(calls, before, after)
    told = NOTHING_TOLD if trial.log is None else await asyncio.to_thread(trial.log.read)
    judged = [call for each in calls if (call := _judged(each, window, trial.limits, told))]
    found = problems(judged, usage.loads, trial.watched.under_test, trial.limits.late_after)
    return point(rate, rate * course.lengths.mean, judged, trial.limits, usage, found)


async def _call(
    trial: Trial, coming: Arrival, start: float, last: float, seed: float, calls: list[HeldCall]
) -> None:
    await asyncio.sleep(start + coming.at - asyncio.get_running_loop().time())
    seconds = min(coming.seconds, last - coming.at)
    call = begin(trial.line, plan(trial.habits, seconds, random.Random(seed)))
    calls.append(call)
    try:
        await trial.line.call(call.call_id, call.phone)
    except OSError as error:  # no port or file was left for the caller itself
        call.phone.end("failure", str(error))


async def _read_at(watched: Watched, at: float) -> _Reading:
    await asyncio.sleep(at - asyncio.get_running_loop().time())
    return _Reading(
        asyncio.get_running_loop().time(),
        time.process_time(),
        _used(watched.server),
        {name: used for name, pid in watched.stand_ins.items() if (used := _used(pid)) is not None},
        cores_of(0),
        [name for name, pid in watched.stand_ins.items() if cores_of(pid) == cores_of(0)],
    )


def _used(process: int | None) -> float | None:
    try:
        return None if process is None else processor_seconds(process)
    except OSError:
        return None  # it is gone, which its calls show


def _usage(calls: Sequence[HeldCall], before: _Reading, after: _Reading) -> Usage:
    wall = after.at - before.at
    known = before.server is not None and after.server is not None
    late = [each for call in calls for each in call.phone.schedule.lateness]
    stand_ins = {
        name: (used - before.stand_ins[name]) / wall
        for name, used in after.stand_ins.items()
        if name in before.stand_ins
    }
    callers = (after.callers - before.callers) / wall
    beside = sum(stand_ins[name] for name in after.beside if name in stand_ins)
    return Usage(
        seconds=wall,
        call_seconds=sum(call.seconds_within(before.at, after.at) for call in calls),
        server=(after.server or 0.0) - (before.server or 0.0) if known else None,
        loads=Loads(
            callers,
            stand_ins,
            (callers + beside) / len(after.cores),
            float(np.percentile(late, 99)) if late else 0.0,
        ),
    )


def _judged(
    call: HeldCall, window: tuple[float, float], limits: Limits, told: Told
) -> JudgedCall | None:
    """Judge a call by its turns within the measured time; None: it has nothing to do with it."""
    begun = call.asked if call.answered is None else call.answered
    if (call.ended or window[1]) < window[0] or begun > window[1]:
        return None
    by, reason = call.phone.outcome or ("failure", "never ended")
    refused, broken = None, ""
    if by == "failure":
        heard = bool(call.phone.tape.arrivals)
        cause = told.causes.get(call.call_id, "")
        refused = None if heard and own_limit(reason) is None else refusal(reason, cause)
        broken = "" if refused else reason
    names = (call.phone.known_as, call.call_id)
    claims = next((told.claims[name] for name in names if name in told.claims), ())
    turns = [
        judged
        for each in figures(call.phone.tape, limits.late_after, claims)
        if window[0] <= begun + each.said_end <= window[1]
        and (judged := judge_turn(each, limits)) is not None
    ]
    answered = None if refused or call.answered is None else call.answered - call.asked
    return JudgedCall(answered, refused, broken, tuple(turns))
