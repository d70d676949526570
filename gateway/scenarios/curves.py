"""Scores turn-taking by EVA's curves (arXiv 2605.13841): each turn from 0 to 1, without a model."""

from __future__ import annotations

from gateway.scenarios.held import Held, Spoken

EARLY, ON_TIME = -0.5, 0.5
"""Seconds from the caller's end: an answer before the first scores 0, from the second on 1."""

LATE, TOO_LATE = 2.0, 3.5
LATE_WITH_TOOL, TOO_LATE_WITH_TOOL = 3.0, 5.0
"""Up to the first an answer scores 1, from the second on nothing."""

TALKED_OVER, OVERLAP = 0.5, 2.0
"""The most that a turn scores into which the agent talked, and the seconds of it that leave 0."""

YIELD = 2.0
"""Seconds within which an agent must fall silent when the caller cuts in, to score anything."""


def scores(held: Held) -> list[float]:
    """Return the score of each turn; of none anything where the last one was not answered."""
    turns = [each for each in held.spoken if each.kind in ("turn", "cut_in")]
    found = []
    for at, turn in enumerate(turns):
        until = turns[at + 1].start if at + 1 < len(turns) else float("inf")
        score = _answered(held, turn, until)
        if turn.kind == "cut_in":
            score = min(score, _yielded(held, turn))
        found.append(score)
    answered = turns and any(each.start >= turns[-1].end + EARLY for each in held.stretches)
    return found if answered or held.ended is not None else [0.0] * len(found)


def _answered(held: Held, turn: Spoken, until: float) -> float:
    over = [x.start for x in held.stretches if turn.start < x.start < turn.end + EARLY]
    if over and turn.kind == "turn":
        return TALKED_OVER * max(0.0, 1 - (turn.end - over[0]) / OVERLAP)
    after = [x.start - turn.end for x in held.stretches if turn.end + EARLY <= x.start < until]
    if not after:
        return 0.0
    tool = any(turn.start <= at < until for at, _ in held.used)
    return on_time(after[0], tool=tool)


def on_time(seconds: float, *, tool: bool) -> float:
    """Return how good it is that an answer comes so long after the caller's end."""
    late, too_late = (LATE_WITH_TOOL, TOO_LATE_WITH_TOOL) if tool else (LATE, TOO_LATE)
    if seconds < ON_TIME:
        return max(0.0, (seconds - EARLY) / (ON_TIME - EARLY))
    return 1.0 if seconds <= late else max(0.0, (too_late - seconds) / (too_late - late))


def _yielded(held: Held, turn: Spoken) -> float:
    stopped = [x.end - turn.start for x in held.stretches if x.start <= turn.start < x.end]
    return max(0.0, 1 - stopped[0] / YIELD) if stopped else 1.0
