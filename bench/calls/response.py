"""How long callers wait for an answer, at the far end and in the log, against a silence timer."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from bench.calls.gateway_process import GatewayProcess, gateway
from bench.calls.speech import recordings
from gateway.caller.place import parse_target, place_call
from gateway.caller.plan import CallPlan, Say
from gateway.caller.sound import Recording
from gateway.log_events import TurnEndedLogged, TurnLogged
from gateway.observe.lines import LogLine

RATIO = 0.6
"""Of the median response with the detector to that with a plain silence timer, at most."""

AGREEMENT = 0.06
"""Seconds by which log and far end may differ: three frames."""

FRAME = 0.02

SILENCE = 1.0
"""Seconds of the timer it is compared with."""

APART = 0.5
"""Seconds between the calls of the two gateways, so that their recognisers rarely meet."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One recording, and how it was answered."""

    said: str
    call: str
    far: float | None
    "response at the far end; None: there was none"
    logged: float | None = None
    "the same by the log"
    stages: dict[str, float] = field(default_factory=dict)
    why: str = ""
    "what ended the turn"
    premature: int = 0
    turns: int = 0
    "turns the gateway made of it"
    caller_late: float = 0.0
    "99th percentile of how late the measuring caller's own clock was"

    @property
    def difference(self) -> float | None:
        """Log less far end."""
        if self.far is None or self.logged is None:
            return None
        return self.logged - self.far


@dataclass(frozen=True, slots=True)
class Responses:
    """What was measured."""

    detector: tuple[Answer, ...]
    timer: tuple[Answer, ...]

    @property
    def median(self) -> float:
        """Median response with the detector."""
        return _median(self.detector)

    @property
    def timer_median(self) -> float:
        """Median response with the timer."""
        return _median(self.timer)

    def problems(self) -> list[str]:
        """Return what does not hold."""
        every = [*self.detector, *self.timer]
        found = [f"{each.said} was not answered" for each in every if each.far is None]
        if self.median > RATIO * self.timer_median:
            found.append(f"the median response is over {RATIO} of the timer's")
        for each in every:
            if each.difference is not None and abs(each.difference) > AGREEMENT:
                found.append(f"{each.said}: log and far end are {each.difference:+.3f} s apart")
            if each.logged is not None and abs(sum(each.stages.values()) - each.logged) > FRAME:
                found.append(f"{each.said}: the stages do not add up")
        return found


def _median(answers: Sequence[Answer]) -> float:
    times = [each.far for each in answers if each.far is not None]
    return statistics.median(times) if times else float("nan")


async def measure(speech: Path, kinds: Sequence[str], first: int | None = None) -> Responses:
    """Say each recording in a call of its own, to both gateways."""
    sounds = recordings(speech, kinds)[:first]
    with ExitStack() as stack:
        smart = stack.enter_context(gateway())
        plain = stack.enter_context(gateway({"turn": {"silence": SILENCE}}))
        async with asyncio.TaskGroup() as group:
            one = group.create_task(_all(smart, sounds, 0.0))
            other = group.create_task(_all(plain, sounds, APART))
    return Responses(tuple(one.result()), tuple(other.result()))


async def _all(to: GatewayProcess, sounds: Sequence[Recording], after: float) -> list[Answer]:
    await asyncio.sleep(after)
    return [await _one(to, sound) for sound in sounds]


async def _one(to: GatewayProcess, sound: Recording) -> Answer:
    plan = CallPlan(steps=(Say(sound),), linger=0.3)
    report = await place_call(plan, parse_target(to.target))
    lines = await asyncio.to_thread(to.ended, report.call_id)
    (turn,) = report.turns or (None,)
    if turn is None:
        return Answer(sound.name, report.call_id, None)
    logged = _nearest(lines, turn.first_audio)
    ended = [each.told for each in lines if isinstance(each.told, TurnEndedLogged)]
    return Answer(
        sound.name,
        report.call_id,
        turn.response,
        None if logged is None else logged.response,
        {} if logged is None else msgspec.structs.asdict(logged.stages),
        ", ".join(each.why for each in ended),
        turn.premature,
        len(ended),
        report.caller_late_p99,
    )


def _nearest(lines: Sequence[LogLine], at: float | None) -> TurnLogged | None:
    """Return the `turn` line of an answer that was first heard at `at`."""
    turns = [(line.at, line.told) for line in lines if isinstance(line.told, TurnLogged)]
    if at is None or not turns:
        return None
    return min(turns, key=lambda turn: abs(turn[0] - at))[1]
