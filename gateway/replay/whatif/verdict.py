"""What would have differed: per turn of one call, and in sum over many, on the judged part."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gateway.replay.whatif.replies import NEAR
from gateway.replay.whatif.run import Outcome
from gateway.replay.whatif.story import Story, Turn, until


@dataclass(frozen=True, slots=True)
class Pair:
    """A turn as it was and as it would have been; None: there was none that ended there."""

    then: Turn | None
    now: Turn | None


@dataclass(frozen=True, slots=True)
class Figures:
    """What is counted of the judged part of calls."""

    turns: int = 0
    "that were answered"
    cut_short: int = 0
    responses: tuple[float, ...] = ()
    "seconds, of the turns that were not cut short"
    cut_ins: int = 0
    backchannels: int = 0
    "and other sounds over which the agent talked on"
    drafts: int = 0
    drafts_used: int = 0
    model_calls: int = 0

    def __add__(self, other: Figures) -> Figures:
        """Return both together."""
        return Figures(
            self.turns + other.turns,
            self.cut_short + other.cut_short,
            self.responses + other.responses,
            self.cut_ins + other.cut_ins,
            self.backchannels + other.backchannels,
            self.drafts + other.drafts,
            self.drafts_used + other.drafts_used,
            self.model_calls + other.model_calls,
        )

    @property
    def median(self) -> float | None:
        """Return the median response."""
        return statistics.median(self.responses) if self.responses else None

    @property
    def tail(self) -> float | None:
        """Return the response that one turn in twenty exceeds."""
        if not self.responses:
            return None
        ordered = sorted(self.responses)
        return ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]

    @property
    def share(self) -> float:
        """Return the share of turns that were cut short."""
        return self.cut_short / self.turns if self.turns else 0.0


@dataclass(frozen=True, slots=True)
class Sum:
    """Many calls together."""

    calls: int = 0
    diverged: int = 0
    "calls of which not everything could be judged"
    held: int = 0
    "turns that the recordings hold"
    then: Figures = field(default_factory=Figures)
    now: Figures = field(default_factory=Figures)
    sources: Counter[str] = field(default_factory=Counter)


def pairs(outcome: Outcome) -> list[Pair]:
    """Put the judged turns of then and now beside each other, in order."""
    then, now = list(judged_then(outcome)), list(judged_now(outcome))
    found: list[Pair] = []
    for turn in now:
        same = next((each for each in then if abs(each.end - turn.end) <= NEAR), None)
        if same is not None:
            then.remove(same)
        found.append(Pair(same, turn))
    found += [Pair(turn, None) for turn in then]
    return sorted(found, key=lambda each: (each.then or each.now).end)  # type: ignore[union-attr]


def judged_then(outcome: Outcome) -> Iterable[Turn]:
    """Return the turns of then up to where the call diverged."""
    end = _end(outcome)
    return (t for t in outcome.then.turns if t.heard is not None and t.heard <= end)


def judged_now(outcome: Outcome) -> Iterable[Turn]:
    """Return the turns of now; it was run no further than it can be judged."""
    return (t for t in outcome.now.turns if t.heard is not None)


def then_of(outcome: Outcome) -> Figures:
    """Count what was, on the judged part."""
    return _figures(outcome.then, list(judged_then(outcome)), _end(outcome))


def now_of(outcome: Outcome) -> Figures:
    """Count what would have been."""
    return _figures(outcome.now, list(judged_now(outcome)), float("inf"))


def recorded(outcomes: Sequence[Outcome]) -> Figures:
    """Count what was in whole recordings, whatever of them was judged."""
    found = Figures()
    for each in outcomes:
        answered = [turn for turn in each.then.turns if turn.heard is not None]
        found += _figures(each.then, answered, float("inf"))
    return found


def total(outcomes: Sequence[Outcome]) -> Sum:
    """Add up many calls."""
    then, now, sources = Figures(), Figures(), Counter[str]()
    for each in outcomes:
        then += then_of(each)
        now += now_of(each)
        sources += each.sources
    return Sum(
        len(outcomes),
        sum(each.diverged is not None for each in outcomes),
        sum(t.heard is not None for each in outcomes for t in each.then.turns),
        then,
        now,
        sources,
    )


def _figures(story: Story, turns: Sequence[Turn], end: float) -> Figures:
    whole = [t.response for t in turns if not t.cut_short and t.response is not None]
    return Figures(
        len(turns),
        sum(turn.cut_short for turn in turns),
        tuple(whole),
        until(story.cut_ins, end),
        until(story.backchannels, end),
        until(story.drafts, end),
        until(story.drafts_used, end),
        until(story.model_calls, end),
    )


def _end(outcome: Outcome) -> float:
    return float("inf") if outcome.diverged is None else outcome.diverged.at
