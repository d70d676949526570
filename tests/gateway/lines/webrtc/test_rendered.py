"""From the RTP time that a page names to the sample of an utterance."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.lines.webrtc.rendered import Rendered, Timeline
from media.playout import Chunk

CLOCK, RATE = 48000, 24000
FIRST = (1 << 32) - 960 * 3
"""The stream's clock wraps after three frames."""


def chunk(utterance: int, start: int, end: int) -> Chunk:
    return Chunk(utterance, 1, start, end, b"", last=False)


def timeline() -> Timeline:
    """Two frames of silence, two of utterance 5 (the second is short), three of silence."""
    line = Timeline(CLOCK, RATE, FIRST)
    for number, one in enumerate(
        [None, None, chunk(5, 0, 480), chunk(5, 480, 700), None, None, None]
    ):
        line.sent(one, 10 + 0.02 * number)
    return line


def stamp(units: int) -> int:
    return (FIRST + units) % (1 << 32)


def test_a_sample_of_an_utterance_is_found() -> None:
    found = timeline().at(stamp(2 * 960 + 480), 10.15)
    assert found == Rendered(5, 240, 10.15 - (10.04 + 0.01), True)


def test_silence_before_everything_belongs_to_nothing() -> None:
    found = timeline().at(stamp(100), 10.1)
    assert found is not None
    assert (found.utterance, found.position, found.speaking) == (0, 0, False)
    assert abs(found.delay - (0.1 - 100 / CLOCK)) < 1e-9


def test_silence_behind_an_utterance_says_that_all_of_it_was_heard() -> None:
    found = timeline().at(stamp(5 * 960), 10.2)
    assert found is not None
    assert (found.utterance, found.position, found.speaking) == (5, 700, False)


def test_padding_is_no_part_of_the_utterance() -> None:
    found = timeline().at(stamp(3 * 960 + 900), 10.2)
    assert found is not None
    assert found.position == 700


def test_what_was_not_sent_is_not_found() -> None:
    line = timeline()
    assert line.at(stamp(7 * 960), 10.2) is None
    assert line.at(stamp(-1), 10.2) is None
    assert Timeline(CLOCK, RATE, 0).at(0, 1.0) is None


def test_after_a_jump_the_clock_goes_on() -> None:
    line = timeline()
    line.skip(960 * 50)
    assert line.at(stamp(5 * 960), 12.0) is None
    line.sent(chunk(6, 0, 480), 12.0)
    found = line.at(stamp(57 * 960 + 2), 12.1)
    assert found is not None
    assert (found.utterance, found.position) == (6, 1)


def test_silence_behind_what_came_to_nobody_says_nothing_of_it() -> None:
    line = timeline()
    line.forget()
    assert line.at(stamp(3 * 960), 10.2) is None
    line.sent(None, 12.0)
    found = line.at(stamp(7 * 960 + 1), 12.1)
    assert found is not None
    assert (found.utterance, found.speaking) == (0, False)


@given(st.integers(1, 40), st.integers(0, 40 * 960 - 1), st.integers(0, (1 << 32) - 1))
def test_every_sample_that_was_sent_is_found(frames: int, unit: int, first: int) -> None:
    line = Timeline(CLOCK, RATE, first)
    for number in range(frames):
        line.sent(chunk(1, 480 * number, 480 * number + 480), 0.02 * number)
    found = line.at((first + unit) % (1 << 32), 5.0)
    if unit < frames * 960:
        assert found is not None
        assert found.position == unit // 2
        assert abs(found.delay - (5.0 - unit / CLOCK)) < 1e-6
    else:
        assert found is None
