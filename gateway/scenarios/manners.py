"""Measures how an agent behaved in a call with sound: tau-voice's figures, and what is never right.

The windows are tau-voice's (arXiv 2603.13686): an agent yields within 2.0 s of a caller who cuts
in, and has taken a sound for a claim where it falls silent within 1.0 s of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gateway.scenarios.curves import scores
from gateway.scenarios.held import Held, Spoken
from gateway.scenarios.judge import Failure
from gateway.scenarios.scenario import Turn
from gateway.scenarios.sound_leg import Stretch

YIELD_SECONDS = 2.0
SOUND_SECONDS = 1.0
CLAIM_SECONDS = 0.7
"""A word or two over the agent's speech may be a nod; nobody owes it the floor."""

SLACK_SECONDS = 0.3
"""An agent that begins so shortly before a caller's end has not talked over them."""


@dataclass(frozen=True, slots=True)
class Manners:
    """Counts and sums of one call; those of several are added."""

    turns: int = 0
    answered: int = 0
    response_seconds: float = 0.0
    "of all that were answered"
    cut_ins: int = 0
    yielded: int = 0
    yield_seconds: float = 0.0
    talked_over: int = 0
    "turns into which the agent spoke"
    backchannels: int = 0
    "over the agent's speech; so are the next"
    talked_on: int = 0
    "through a back-channel"
    tics: int = 0
    "coughs"
    tics_ignored: int = 0
    asides: int = 0
    "what was said to somebody else, or by somebody else"
    asides_ignored: int = 0
    curves: float = 0.0
    "EVA's score of each turn, added up"

    def __add__(self, other: Manners) -> Manners:
        return Manners(*(getattr(self, name) + getattr(other, name) for name in Manners.__slots__))

    def figures(self) -> dict[str, float | None]:
        """Return tau-voice's figures by its names; None: there was nothing to measure."""
        return {
            "response_rate": _share(self.answered, self.turns),
            "response_latency_mean": _share(self.response_seconds, self.answered),
            "yield_rate": _share(self.yielded, self.cut_ins),
            "yield_latency_mean": _share(self.yield_seconds, self.yielded),
            "agent_interruption_rate": _share(self.talked_over, self.turns),
            "backchannel_rate": _share(self.talked_on, self.backchannels),
            "vocal_tic_rate": _share(self.tics_ignored, self.tics),
            "non_directed_rate": _share(self.asides_ignored, self.asides),
            "eva_turn_taking": _share(self.curves, self.turns),
        }


def _share(part: float, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def manners(held: Held) -> Manners:
    """Measure a call."""
    total = Manners(curves=sum(scores(held)))
    turns = [each for each in held.spoken if each.kind in ("turn", "cut_in")]
    for at, turn in enumerate(turns):
        response = response_seconds(held, turns, at)
        over = turn.kind == "turn" and any(
            turn.start < each.start < turn.end - SLACK_SECONDS for each in held.stretches
        )
        total += Manners(
            turns=1,
            answered=response is not None,
            response_seconds=response or 0.0,
            talked_over=over,
        )
        if turn.kind == "cut_in" and turn.end - turn.start >= CLAIM_SECONDS:
            stopped = silent_after(held.stretches, turn.start)
            yielded = stopped <= YIELD_SECONDS
            seconds = stopped if yielded else 0.0
            total += Manners(cut_ins=1, yielded=yielded, yield_seconds=seconds)
    for sound in _sounds(held):
        ignored = not _stopped_for(held, sound)
        match sound.kind:
            case "backchannel":
                total += Manners(backchannels=1, talked_on=ignored)
            case "cough":
                total += Manners(tics=1, tics_ignored=ignored)
            case _:
                total += Manners(asides=1, asides_ignored=ignored)
    return total


def response_seconds(held: Held, turns: Sequence[Spoken], at: int) -> float | None:
    """Return how long after a turn's end the agent was heard; None: not before the next turn."""
    end = turns[at].end
    before = turns[at + 1].start if at + 1 < len(turns) else float("inf")
    starts = [each.start for each in held.stretches if end - SLACK_SECONDS <= each.start < before]
    return None if not starts else max(0.0, starts[0] - end)


def silent_after(stretches: Sequence[Stretch], moment: float) -> float:
    """Return how long after a moment the agent, who was speaking then, fell silent."""
    return next((each.end - moment for each in stretches if each.start <= moment < each.end), 0.0)


def _sounds(held: Held) -> list[Spoken]:
    return [each for each in held.spoken if each.kind not in ("turn", "cut_in")]


def _stopped_for(held: Held, sound: Spoken) -> bool:
    """Return whether the agent was cut short within the window of a sound."""
    until = sound.end + SOUND_SECONDS
    return any(
        name == "interrupted" and sound.start <= at <= until for at, name, _ in held.lines
    ) and not any(
        each.kind == "cut_in" and each.start <= until
        for each in held.spoken
        if each.start > sound.start
    )


def manner_failures(held: Held, turns: Sequence[Turn]) -> Iterator[Failure]:
    """Find what no caller should meet in a call with sound."""
    spoken = [each for each in held.spoken if each.kind in ("turn", "cut_in")]
    for line, why in held.undone:
        yield Failure("invalid", why, line)
    for at, (turn, said) in enumerate(zip(turns, spoken, strict=False)):
        response = response_seconds(held, spoken, at)
        if response is None and (held.ended is None or held.ended > said.end):
            yield Failure("unanswered", f"nothing was heard after: {turn.words}", turn.line)
        for expect in turn.expect:
            if response is not None and response > (expect.within_ms or 60_000) / 1000:
                late = f"the answer came after {response * 1000:.0f} ms"
                yield Failure("timeout", f"{late}, expected {expect.within_ms}", turn.line)
        if said.kind == "cut_in" and said.end - said.start >= CLAIM_SECONDS:
            stopped = silent_after(held.stretches, said.start)
            if stopped > YIELD_SECONDS:
                told = f"the agent went on for {stopped:.2f} s when the caller cut in"
                yield Failure("not_stopped", told, turn.line)
    for sound in _sounds(held):
        if _stopped_for(held, sound):
            at_second = sound.start - held.began
            yield Failure(
                "stopped_for_sound", f"the agent stopped for a {sound.kind} at {at_second:.2f} s"
            )
    if held.waiting:
        yield Failure("cut_off", f"it hung up with {held.waiting / 8000:.2f} s still to be said")
