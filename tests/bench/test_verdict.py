"""The verdict on a demonstrated call: each thing that can go wrong is found."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from bench.verdict import CutIn, FarEnd, Turn, judge
from gateway.observe.lines import LogLine, parse
from tests.support.log_lines import stages, whole


def lines() -> list[LogLine]:
    return [
        parse(whole(2.0, "turn", turn=1, **stages(0.3, 0.0, 0.0, 0.1, 0.02), acknowledged=None)),
        parse(whole(4.0, "interrupted", heard=1.2, stop_delay=0.3)),
        parse(whole(6.0, "turn", turn=2, **stages(0.6, 0.0, 0.0, 0.1, 0.02), acknowledged=None)),
        parse(whole(9.0, "call_ended", ended_by="agent", seconds=9.0)),
    ]


FAR = FarEnd(
    answered=True,
    ended_by="agent",
    turns=[Turn(first_audio=2.0, response=0.42), Turn(first_audio=6.01, response=0.74)],
    cut_ins=[CutIn(stop_delay=0.31)],
)


@dataclass(frozen=True)
class Call:
    """A good call, until a test changes something about it."""

    folder: Path
    far: FarEnd = FAR
    lines: Sequence[LogLine] = field(default_factory=lines)
    bookings: int = 1
    channels: int = 2
    ended_well: bool = True

    def wrong(self) -> list[str]:
        """Judge the call; give what is said of the points that do not hold."""
        book = self.folder / "book.sqlite"
        with closing(sqlite3.connect(book)) as base, base:
            base.execute("create table bookings (name text, car text, day text, time text)")
            for _ in range(self.bookings):
                base.execute(
                    "insert into bookings values ('Jones', 'Tesla', '2026-12-01', '08:00')"
                )
        recording = self.folder / "call.wav"
        soundfile.write(recording, np.zeros((9 * 8000, self.channels), np.int16), 8000)
        points = judge(self.far, self.lines, book, [recording], self.ended_well)
        return [point.said for point in points if not point.good]


def test_a_good_call_is_good(tmp_path: Path) -> None:
    assert Call(tmp_path).wrong() == []


@pytest.mark.parametrize(
    ("far", "said"),
    [
        ({"answered": False, "reason": "busy"}, "the call was not held to its end: busy"),
        ({"cut_ins": []}, "the caller's cut-in did not stop the agent"),
        (
            {"cut_ins": [CutIn(stop_delay=1.0)]},
            "a cut-in silenced the agent within 1.00 s, after 1.20 s of a reply",
        ),
        (
            {"audio_after_clear_seconds": 0.2},
            "a cut-in silenced the agent within 0.31 s, after 1.20 s of a reply",
        ),
        ({"turns": [*FAR.turns, Turn()]}, "2 of 3 turns were answered"),
        (
            {"turns": [Turn(first_audio=2.0, response=0.6)]},
            "both ends agree on the responses within 180 ms",
        ),
    ],
)
def test_what_the_far_end_found_wrong(tmp_path: Path, far: dict[str, object], said: str) -> None:
    changed = {name: getattr(FAR, name) for name in FAR.__struct_fields__} | far
    assert said in Call(tmp_path, far=FarEnd(**changed)).wrong()


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (whole(3.0, "fault", part="voice", reason="silent"), "voice: silent"),
        (
            whole(8.0, "turn", **(stages(0.5, 0, 0, 0, 0) | {"response": 0.9})),
            "the stages of 3 turns add up to their responses",
        ),
    ],
)
def test_what_the_log_found_wrong(tmp_path: Path, extra: bytes, said: str) -> None:
    assert Call(tmp_path, lines=[*lines(), parse(extra)]).wrong() == [said]


def test_a_filler_is_what_the_far_end_hears_first(tmp_path: Path) -> None:
    slow = parse(whole(4.0, "turn", **stages(0.3, 0.0, 0.0, 2.1, 0.02), acknowledged=0.41))
    assert Call(tmp_path, lines=[slow, *lines()[1:]]).wrong() == []


def test_a_booking_that_is_missing_doubled_or_unwritten(tmp_path: Path) -> None:
    call = Call(tmp_path)
    for bookings in (0, 2):
        folder = tmp_path / str(bookings)
        folder.mkdir()
        assert replace(call, folder=folder, bookings=bookings).wrong() == [
            f"{bookings} appointments were booked instead of one"
        ]


def test_a_recording_of_one_side(tmp_path: Path) -> None:
    assert Call(tmp_path, channels=1).wrong() == ["the recording has 1 channels and 9 s"]


def test_a_gateway_that_ended_badly(tmp_path: Path) -> None:
    assert Call(tmp_path, ended_well=False).wrong() == ["the gateway ended in good order"]
