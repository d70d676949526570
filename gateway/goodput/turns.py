"""Makes figures of turns of a call's tape, and of what the server's log says of the same call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from gateway.caller.measure import Said, Tape, goes_on, lateness, measure, utterance
from gateway.goodput.judging import TurnFigures
from media.level import audible

YIELD_PAUSE = 0.7
"""Seconds of silence after which the agent has stopped; pauses in speech are shorter."""

EARLY = 0.3
"""Seconds before the caller's last word from which an agent may begin: it knows enough by then."""

SOON = 1.0
"""Seconds after the caller's last word by which a log has said what was heard."""

FRAME_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Claim:
    """What a server believes was heard of a speech that was cut into."""

    at: float
    "seconds since the call was answered"
    utterance: int
    heard: float
    "seconds of it"


def figures(tape: Tape, late_after: float, claims: Sequence[Claim] = ()) -> list[TurnFigures]:
    """Return the figures of each thing the caller said, in order."""
    rate = tape.form.rate
    measured = measure(tape)
    turns = iter(measured.turns)
    late = lateness(tape.arrivals, rate)
    heard = audible(tape.heard_pcm(), rate)
    frame = round(FRAME_SECONDS * rate)
    found = []
    for one, following in pairwise([*tape.said, None]):
        assert one is not None
        until = tape.end if following is None else following.speech_start
        stop = _stop_delay(tape, heard, one) if one.cut_in else None
        answer = (
            _answer(tape, heard, one, stop or 0.0, until) if one.cut_in else next(turns).response
        )
        window = [
            (samples, late[n] > late_after)
            for n, (at, samples) in enumerate(tape.arrivals)
            if one.speech_start <= at * rate < until
        ]
        claim = _claim(one, until, claims, rate) if one.cut_in else None
        found.append(
            TurnFigures(
                said_end=one.speech_end / rate,
                response=answer,
                waited=max(0.0, (until - one.speech_end) / rate),
                stop_delay=stop,
                frames=sum(samples for samples, _ in window) // frame,
                late=sum(samples for samples, behind in window if behind) // frame,
                missing=sum(n for at, n in measured.gaps if one.speech_start <= at < until),
                heard_error=None if claim is None else abs(claim.heard - _heard(tape, claim)),
            )
        )
    return found


def _stop_delay(tape: Tape, heard: Sequence[tuple[int, int]], said: Said) -> float | None:
    """Return how long the agent was still heard over a cut-in; None where it was not speaking.

    Who is silent for a moment and then goes on with the same speech has not stopped, cleared or
    not: so it is the same on every line.
    """
    onset = said.speech_start
    pause = round(YIELD_PAUSE * tape.form.rate)
    end: int | None = None
    for start, stop in heard:
        if start > onset and (
            end is None or start - end > pause or goes_on(tape, end, start) is False
        ):
            break
        if stop > onset:
            end = stop
    return None if end is None else (end - onset) / tape.form.rate


def _answer(
    tape: Tape, heard: Sequence[tuple[int, int]], said: Said, stop_delay: float, until: int
) -> float | None:
    """Return how soon a cut-in was answered; the speech that was cut into is no answer."""
    stop = said.speech_start + round(stop_delay * tape.form.rate)
    for start, _ in heard:
        if not said.speech_end - round(EARLY * tape.form.rate) <= start < until:
            continue
        if goes_on(tape, stop, start):
            continue
        return (start - said.speech_end) / tape.form.rate
    return None


def _claim(said: Said, until: int, claims: Sequence[Claim], rate: int) -> Claim | None:
    end = min(until, said.speech_end + round(SOON * rate))
    inside = [c for c in claims if c.heard and said.speech_start <= c.at * rate <= end]
    return inside[0] if inside else None


def _heard(tape: Tape, claim: Claim) -> float:
    """Return how many seconds of an utterance the far end had played when it was cut off."""
    rate = tape.form.rate
    end = round((claim.at + FRAME_SECONDS) * rate)
    others = [at for at, name in tape.marks if at <= end and utterance(name) != claim.utterance]
    begin = max(others, default=0)
    return sum(max(0, min(b, end) - max(a, begin)) for a, b in tape.stretches()) / rate
