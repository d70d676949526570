"""Decides whether a demonstrated call went well, from what both of its ends say."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec
import soundfile

from gateway.log_events import CallEndedLogged, FaultLogged, InterruptedLogged, TurnLogged
from gateway.observe.lines import LogLine

FRAME = 0.02
AGREEMENT = 0.06
"""Seconds by which the far end and the log may differ about a response: three frames."""

STOP = 0.6
"""Seconds from the caller's first voiced sample to the last audible one of the agent.
`make bench` holds the 95th percentile of many to 0.4; one of a busy machine may take longer."""

SLOW = 4.0
"""A turn that sounds unfinished is waited for, 2.6 s at most; what takes longer has a fault."""


class Turn(msgspec.Struct, frozen=True):
    """One turn, on the caller's clock."""

    first_audio: float | None = None
    response: float | None = None


class CutIn(msgspec.Struct, frozen=True):
    """One cut-in, on the caller's clock."""

    stop_delay: float | None = None
    resumed: bool = False


class FarEnd(msgspec.Struct, frozen=True):
    """What the caller measured, as `parley call --json` prints it."""

    answered: bool = False
    ended_by: str = ""
    reason: str = ""
    turns: list[Turn] = []
    cut_ins: list[CutIn] = []
    audio_after_clear_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Point:
    """One thing that must hold."""

    good: bool
    said: str


def judge(
    far: FarEnd,
    lines: Sequence[LogLine],
    appointments: Path,
    recordings: Sequence[Path],
    ended_well: bool,
) -> list[Point]:
    """Say of everything that makes a call a good one whether it was so."""
    turns = [(line.at, line.told) for line in lines if isinstance(line.told, TurnLogged)]
    return [
        _ending(far, lines),
        _booking(appointments),
        _cut_in(far, lines),
        _turns(far, turns),
        _stages(turns),
        _agreement(far, turns),
        _faults(lines),
        _recording(recordings, lines),
        Point(ended_well, "the gateway ended in good order"),
    ]


def _ending(far: FarEnd, lines: Sequence[LogLine]) -> Point:
    ended = [line.told for line in lines if isinstance(line.told, CallEndedLogged)]
    if not far.answered or not ended:
        return Point(False, f"the call was not held to its end: {far.reason or 'no answer'}")
    by, seconds = ended[0].ended_by, ended[0].seconds
    return Point(by in ("agent", "caller"), f"the call was ended by the {by} after {seconds:.0f} s")


def _booking(appointments: Path) -> Point:
    """Look into the workshop's own book: what was said to be booked must stand there, once."""
    if not appointments.exists():
        return Point(False, "no appointment was booked")
    with closing(sqlite3.connect(appointments)) as base:
        rows = base.execute("select name, car, day, time from bookings").fetchall()
    if len(rows) != 1:
        return Point(False, f"{len(rows)} appointments were booked instead of one")
    name, car, day, time = rows[0]
    return Point(True, f"{name}'s {car} was booked for {day} at {time}, once")


def _cut_in(far: FarEnd, lines: Sequence[LogLine]) -> Point:
    cut = [
        line.told
        for line in lines
        if isinstance(line.told, InterruptedLogged) and line.told.heard > 0
    ]
    delays = [each.stop_delay for each in far.cut_ins if each.stop_delay is not None]
    if not cut or not delays:
        return Point(False, "the caller's cut-in did not stop the agent")
    heard = cut[0].heard
    said = f"a cut-in silenced the agent within {max(delays):.2f} s, after {heard:.2f} s of a reply"
    good = max(delays) <= STOP and far.audio_after_clear_seconds == 0
    return Point(good, said)


def _turns(far: FarEnd, turns: Sequence[tuple[float, TurnLogged]]) -> Point:
    responses = [each.response for each in far.turns if each.response is not None]
    if not responses or len(responses) < len(far.turns):
        return Point(False, f"{len(responses)} of {len(far.turns)} turns were answered")
    median = sorted(responses)[len(responses) // 2]
    said = f"{len(responses)} turns were answered, the middle one after {median:.2f} s"
    return Point(max(responses) <= SLOW, f"{said}, the slowest after {max(responses):.2f} s")


def _stages(turns: Sequence[tuple[float, TurnLogged]]) -> Point:
    off = 0.0
    for _, turn in turns:
        stages = msgspec.structs.astuple(turn.stages)
        off = max(off, abs(sum(stages) - turn.response))
    good = bool(turns) and off <= FRAME
    return Point(good, f"the stages of {len(turns)} turns add up to their responses")


def _agreement(far: FarEnd, turns: Sequence[tuple[float, TurnLogged]]) -> Point:
    """Compare each response at the far end with the log's turn nearest in time."""
    heard = [_first_heard(at, turn) for at, turn in turns]
    worst = 0.0
    compared = 0
    for each in far.turns:
        if each.response is None or each.first_audio is None or not heard:
            continue
        at = each.first_audio
        _, response = min(heard, key=lambda pair: abs(pair[0] - at))
        worst = max(worst, abs(response - each.response))
        compared += 1
    said = f"both ends agree on the responses within {worst * 1000:.0f} ms"
    return Point(compared > 0 and worst <= AGREEMENT, said)


def _first_heard(at: float, turn: TurnLogged) -> tuple[float, float]:
    """Return when a turn's first sound was heard, and how long after the speech: a filler's, where
    there was one, since the far end cannot tell it from the answer."""
    first = turn.response if turn.acknowledged is None else turn.acknowledged
    return at - turn.response + first, first


def _faults(lines: Sequence[LogLine]) -> Point:
    faults = [
        f"{line.told.part}: {line.told.reason}"
        for line in lines
        if isinstance(line.told, FaultLogged)
    ]
    return Point(not faults, "; ".join(faults) or "nothing failed on the way")


def _recording(recordings: Sequence[Path], lines: Sequence[LogLine]) -> Point:
    if len(recordings) != 1:
        return Point(False, f"{len(recordings)} recordings instead of one")
    found = soundfile.info(str(recordings[0]))
    length = max((line.at for line in lines), default=0.0)
    good = found.channels == 2 and abs(found.duration - length) < 2.0
    return Point(good, f"the recording has {found.channels} channels and {found.duration:.0f} s")
