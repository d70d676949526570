"""Which turns and calls are good, by limits that whoever measures has chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.goodput.refusals import Refused


@dataclass(frozen=True, slots=True)
class Limits:
    """What a caller puts up with."""

    response: float = 2.0
    "seconds from the caller's last voiced sample to the first audible one of the answer"
    stop_delay: float = 0.6
    "seconds from the first voiced sample of a cut-in to the agent's last audible one"
    late: float = 0.02
    "share of a turn's frames that may come late"
    missing: float = 0.01
    "share of a turn's frames that may be missing: gaps inside speech"
    heard_error: float = 0.1
    "seconds by which the server may be wrong about what was heard of a speech that was cut into"
    late_after: float = 0.02
    "seconds behind its schedule from which a frame is late"
    answer: float = 2.0
    "seconds from asking for a call to its being answered"


@dataclass(frozen=True, slots=True)
class TurnFigures:
    """What the far end says of one turn."""

    said_end: float
    "seconds since the call was answered: the caller's last voiced sample"
    response: float | None
    "None: there was no answer"
    waited: float
    "seconds from `said_end` for which an answer was waited for"
    stop_delay: float | None
    "None: the agent was not speaking"
    frames: int
    late: int
    missing: int
    heard_error: float | None = None
    "None: nothing was cut off, or it is not known what the server believes"


RESPONSE, STOP, LATE, MISSING, HEARD = "response", "stop delay", "late", "missing", "heard error"
FAULTS = (RESPONSE, STOP, LATE, MISSING, HEARD)


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """A turn, and what was over its limit."""

    figures: TurnFigures
    faults: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Say whether nothing was over its limit."""
        return not self.faults


def judge_turn(turn: TurnFigures, limits: Limits) -> JudgedTurn | None:
    """Judge a turn; None: the call ended before an answer could be missed."""
    if turn.response is None and turn.waited < limits.response:
        return None
    faults = []
    if turn.response is None or turn.response > limits.response:
        faults.append(RESPONSE)
    if turn.stop_delay is not None and turn.stop_delay > limits.stop_delay:
        faults.append(STOP)
    if turn.late > limits.late * turn.frames:
        faults.append(LATE)
    if turn.missing > limits.missing * (turn.frames + turn.missing):
        faults.append(MISSING)
    if turn.heard_error is not None and turn.heard_error > limits.heard_error:
        faults.append(HEARD)
    return JudgedTurn(turn, tuple(faults))


@dataclass(frozen=True, slots=True)
class JudgedCall:
    """One call that was placed, and its turns within the measured time."""

    answered_after: float | None
    "seconds from asking to the answer; None: it was not answered"
    refused: Refused | None
    broken: str
    "why it failed otherwise; empty: it did not"
    turns: tuple[JudgedTurn, ...] = ()

    def good(self, limits: Limits) -> bool:
        """Say whether it was answered in time and all its turns are good."""
        return (
            self.answered_after is not None
            and self.answered_after <= limits.answer
            and not self.broken
            and all(turn.good for turn in self.turns)
        )


def good_share(calls: Sequence[JudgedCall]) -> float | None:
    """Return the share of good turns, a broken call being one bad turn; None: there are none."""
    turns = [turn.good for call in calls for turn in call.turns]
    turns += [False for call in calls if call.broken]
    return sum(turns) / len(turns) if turns else None
