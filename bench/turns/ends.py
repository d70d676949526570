"""Ends of turns: how long after the true end, and how many before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.turns.recordings import RATE, Recording
from turn.events import TurnDrafted, TurnEnded, TurnResumed
from turn.offline import Costs, Ears, Run, run
from turn.profile import DEFAULT, PROFILES, Profile
from turn.taking import TurnSettings


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a method did with one recording."""

    recording: Recording
    at: float | None
    "when it ended the turn; None: not within the recording"
    why: str
    drafted: float | None
    "when the draft that was in force at the end was started"
    drafts: int
    costs: Costs

    @property
    def cut(self) -> bool:
        """Whether the speaker was cut short."""
        early = self.at is not None and self.at < self.recording.end
        return early or (self.at is not None and self.recording.unfinished)

    @property
    def delay(self) -> float | None:
        """Seconds from the true end to the decision; None where there is none to measure.

        A turn that did not end within a recording with enough silence after it counts with all of
        that silence: it would have taken longer.
        """
        if self.cut or self.recording.unfinished:
            return None
        if self.at is not None:
            return self.at - self.recording.end
        return self.recording.tail if self.recording.tail >= 1.2 else None


def begun(found: Outcome) -> Outcome:
    """Return the outcome with the time at which the work began that the turn's end confirmed."""
    if found.cut or found.at is None or found.drafted is None:
        return found
    return replace(found, at=found.drafted)


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of one method; seconds and shares."""

    method: str
    turns: int
    median: float
    p95: float
    mean: float
    cut: float
    cut_natural: str
    "of the incomplete recordings with a real pause, as `n of m`"
    cut_tool: str
    "of those cut off by a tool"
    cut_midpause: str
    "of the turns with pauses inside"
    ended: int
    "turns that ended within the recording, not cut"
    drafts: int
    drafts_used: int
    draft_saved: float
    "median seconds by which a draft that was used was ahead"
    semantic_questions: float
    "a turn"
    words_questions: float
    "a turn"


def outcome(recording: Recording, ears: Ears, settings: TurnSettings) -> Outcome:
    """Take turns over one recording, up to its first end."""
    found = run(recording.samples, RATE, ears, settings)
    end = found.first(TurnEnded)
    drafted, count = _drafts(found, end.at if end else None)
    why = end.what.why if end and isinstance(end.what, TurnEnded) else ""
    return Outcome(recording, end.at if end else None, why, drafted, count, found.costs)


def outcomes(recordings: Sequence[Recording], ears: Ears, profile: Profile) -> list[Outcome]:
    """Take turns over all recordings with one setting."""
    settings = TurnSettings(profile)
    return [outcome(each, ears, settings) for each in recordings]


def _drafts(found: Run, end: float | None) -> tuple[float | None, int]:
    """Return when the draft in force at the end began, and how many were begun up to there."""
    force, count = None, 0
    for said in found.said:
        if end is not None and said.at > end:
            break
        if isinstance(said.what, TurnDrafted):
            force, count = said.at, count + 1
        elif isinstance(said.what, TurnResumed):
            force = None
    return force, count


def summary(method: str, results: Sequence[Outcome]) -> Summary:
    """Sum up one method."""
    delays = [each.delay for each in results if each.delay is not None]
    cuts = [each.recording for each in results if each.cut]
    # A draft is used when its turn really ends; those of a cut turn are spoken into the caller.
    used = [each for each in results if each.drafted is not None and each.at is not None]
    saved = [each.at - each.drafted for each in used if each.at and each.drafted is not None]
    count = len(results)

    def of(choose: Callable[[Recording], bool]) -> str:
        chosen = [each for each in results if choose(each.recording)]
        return f"{sum(each.cut for each in chosen)} of {len(chosen)}"

    return Summary(
        method,
        count,
        float(np.median(delays)) if delays else float("nan"),
        float(np.percentile(delays, 95)) if delays else float("nan"),
        float(np.mean(delays)) if delays else float("nan"),
        len(cuts) / max(count, 1),
        of(lambda each: each.unfinished and not each.cut),
        of(lambda each: each.unfinished and each.cut),
        of(lambda each: each.kind == "midpause"),
        sum(1 for each in results if each.at is not None and not each.cut),
        sum(each.drafts for each in results),
        len(used),
        float(np.median(saved)) if saved else 0.0,
        sum(each.costs.semantic_questions for each in results) / max(count, 1),
        sum(each.costs.words_questions for each in results) / max(count, 1),
    )


# --- the methods ---------------------------------------------------------------------------------

TIMERS = (0.3, 0.5, 0.7, 1.0, 1.2, 1.6, 2.0)
BELIEFS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
LONGEST = (0.6, 0.8, 1.0, 1.2, 1.5, 1.8, 2.2)

ONCE = Profile(
    "semantic once",
    unsure=2.5,
    longest=2.5,
    patience=2.5,
    dictated=2.5,
    most=2.5,
    end=0.9,
    again=99.0,
    habit=0.0,
    stretch=0.0,
    means="semantic",
)
"""The detector asked once, 0.2 s after speech, threshold 0.9, at most 2.5 s."""


def patient(profile: Profile, end: float, longest: float) -> Profile:
    """Return a profile with another threshold and all its waits scaled to another longest one."""
    scale = longest / profile.longest
    return replace(
        profile,
        end=end,
        draft=min(profile.draft, end),
        unsure=max(profile.shortest, profile.unsure * scale),
        longest=longest,
        patience=profile.patience * scale,
        dictated=min(profile.dictated, max(profile.most, profile.patience * scale)),
        most=max(profile.most, profile.patience * scale),
    )


def methods() -> dict[str, Profile]:
    """Name the settings that are compared in the table."""
    found = {f"silence {each:g} s": Profile.silence(each) for each in TIMERS}
    found["semantic once"] = ONCE
    found["semantic"] = DEFAULT.without("semantic")
    found["semantic + words"] = DEFAULT
    return found


def curve(profile: Profile) -> list[Profile]:
    """Return the settings that a method's curve is drawn through."""
    if profile.means == "silence":
        return [Profile.silence(each) for each in np.arange(0.2, 2.45, 0.1).round(2).tolist()]
    return [patient(profile, end, longest) for end in BELIEFS for longest in LONGEST]


def named_profiles() -> dict[str, Profile]:
    """Return the profiles an agent can choose."""
    return dict(PROFILES)
