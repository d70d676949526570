"""What the model is sent of the caller's sound: from before a turn on, whole, and as it came."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.backends.conversion import Conversion
from gateway.backends.realtime.microphone import (
    GATHERED,
    KEPT_SECONDS,
    LONGEST_WAIT,
    PREFIX_SECONDS,
    Microphone,
)
from media.codec import wire_form
from media.frame import AudioFrame
from media.resample import Resampler

RATE = 8000
FRAME = 160
PREFIX = int(PREFIX_SECONDS * RATE)
START = 4000
"""Position of the first frame: a microphone may come into a call that has begun."""


def sound(messages: str | Iterable[str] | None) -> bytes:
    """Read the sound of messages."""
    listed = [messages] if isinstance(messages, str) else messages or ()
    return b"".join(base64.b64decode(json.loads(each)["audio"]) for each in listed)


def coded(number: int) -> bytes:
    """Return the codes of a frame: each of the 256 comes, and no two frames are alike."""
    return bytes((37 * number + sample) % 256 for sample in range(FRAME))


def frame(number: int, codec: str = "pcmu") -> AudioFrame:
    """Return the frame of a number; without a codec it is silence that never came."""
    start = START + number * FRAME
    if not codec:
        return AudioFrame(bytes(2 * FRAME), RATE, start)
    payload = coded(number)
    return AudioFrame(wire_form(codec, RATE).decode(payload), RATE, start, payload, codec)


def passing(codec: str = "pcmu", *, always: bool = False) -> Microphone:
    return Microphone(Conversion(codec, RATE, RATE), RATE, always=always)


def resampling(*, always: bool = False) -> Microphone:
    return Microphone(Conversion("pcmu", RATE, 24000, passes=False), RATE, always=always)


def hears(microphone: Microphone, numbers: range, *, ready: bool = True) -> bytes:
    """Let it hear frames; give what is sent."""
    given = [microphone.hear(frame(number), ready=ready) for number in numbers]
    return sound(each for each in given if each is not None)


@pytest.mark.parametrize("codec", ["pcmu", "pcma"])
def test_every_code_passes_through_as_it_came(codec: str) -> None:
    """Mu-law's two zeros among them: nothing is decoded and encoded again."""
    microphone = passing(codec)
    for number in range(20):
        assert microphone.hear(frame(number, codec), ready=True) is None
    microphone.open = True
    sent = sound(microphone.since(None))
    given = [microphone.hear(frame(number, codec), ready=True) for number in range(20, 30)]
    sent += sound(each for each in given if each is not None) + sound(microphone.rest())
    assert sent == b"".join(coded(number) for number in range(30))
    assert set(sent) == set(range(256))


@pytest.mark.parametrize(("codec", "quiet"), [("pcmu", b"\xff"), ("pcma", b"\xd5")])
@given(kinds=st.lists(st.booleans(), min_size=1, max_size=24), turn=st.integers(0, 24))
def test_where_nothing_came_the_codecs_silence_is_sent(
    codec: str, quiet: bytes, kinds: list[bool], turn: int
) -> None:
    """Before the turn and in it; a line's silence may be longer than a frame."""
    microphone = passing(codec)
    expected = b""
    position = START
    sent: list[str] = []
    for number, came in enumerate(kinds):
        if number == turn:
            microphone.open = True
            sent += microphone.since(None)
        one = frame(number, codec) if came else AudioFrame(bytes(960), RATE, 0)
        placed = AudioFrame(one.pcm, RATE, position, one.payload, one.codec)
        position = placed.end
        expected += one.payload if came else quiet * 480
        message = microphone.hear(placed, ready=True)
        sent += [message] if message is not None else []
    if turn >= len(kinds):
        sent += microphone.since(None)
    assert sound(sent) + sound(microphone.rest()) == expected


@given(st.integers(1, 70), st.integers(-3000, 9000))
def test_a_turn_is_sent_from_a_little_before_its_beginning_in_whole_frames(
    frames: int, start: int
) -> None:
    microphone = passing()
    assert hears(microphone, range(frames)) == b""
    sent = microphone.since(START + start)
    first = max(0, (start - PREFIX) // FRAME)
    assert sound(sent) == b"".join(coded(number) for number in range(first, frames))
    assert len(sent) == (1 if first < frames else 0)


def test_as_much_is_sent_of_what_is_resampled() -> None:
    microphone = resampling()
    hears(microphone, range(50))
    sent = sound(microphone.since(START + 30 * FRAME + PREFIX)) + sound(microphone.rest())
    assert len(sent) == 20 * FRAME * 3 * 2


def test_what_was_sent_once_is_not_kept() -> None:
    microphone = passing()
    hears(microphone, range(20))
    assert microphone.since(None)
    assert microphone.since(None) == []
    hears(microphone, range(20, 25))
    assert sound(microphone.since(START)) == b"".join(map(coded, range(20, 25)))


def test_the_next_turn_begins_in_what_came_after_the_last() -> None:
    """Positions are right although the frames of the turn itself were not kept."""
    microphone = passing()
    hears(microphone, range(10))
    microphone.open = True
    microphone.since(None)
    hears(microphone, range(10, 70))
    microphone.open = False
    microphone.rest()
    hears(microphone, range(70, 130))
    sent = sound(microphone.since(START + 100 * FRAME + PREFIX))
    assert sent == b"".join(map(coded, range(100, 130)))


def test_a_turn_is_sent_in_messages_of_a_few_frames_and_its_rest_at_the_end() -> None:
    microphone = passing()
    microphone.open = True
    given = [microphone.hear(frame(number), ready=True) for number in range(GATHERED + 1)]
    assert [each is not None for each in given] == [False] * (GATHERED - 1) + [True, False]
    assert sound(given[-2]) == b"".join(map(coded, range(GATHERED)))
    assert sound(microphone.rest()) == coded(GATHERED)
    assert microphone.rest() == []


def test_a_model_that_decides_about_turns_hears_each_frame_at_once() -> None:
    microphone = passing(always=True)
    assert [hears(microphone, range(n, n + 1)) for n in range(5)] == [coded(n) for n in range(5)]


def test_of_what_was_no_turn_nothing_more_is_sent() -> None:
    microphone = passing()
    microphone.open = True
    assert hears(microphone, range(GATHERED - 1)) == b""
    microphone.disregard()
    assert microphone.rest() == []
    assert hears(microphone, range(10, 20)) == b""
    assert sound(microphone.since(START + 10 * FRAME + PREFIX)) == b"".join(
        map(coded, range(10, 20))
    )


def test_what_was_no_turn_is_there_for_the_turn_that_it_belongs_to() -> None:
    microphone = passing()
    hears(microphone, range(30))
    microphone.since(START + 20 * FRAME)
    microphone.open = True
    hears(microphone, range(30, 50))
    microphone.disregard()
    hears(microphone, range(50, 80))
    sent = sound(microphone.since(START + 20 * FRAME + PREFIX))
    assert sent == b"".join(map(coded, range(20, 80)))


def test_while_nobody_speaks_three_seconds_are_kept() -> None:
    microphone = passing()
    hears(microphone, range(1000))
    first = 1000 - round(KEPT_SECONDS * RATE) // FRAME
    assert sound(microphone.since(0)) == b"".join(map(coded, range(first, 1000)))


def test_as_much_is_kept_of_what_will_be_resampled() -> None:
    microphone = resampling()
    hears(microphone, range(1000))
    sent = sound(microphone.since(0)) + sound(microphone.rest())
    assert len(sent) == round(KEPT_SECONDS * 24000) * 2


@pytest.mark.parametrize("always", [True, False])
def test_a_turn_waits_half_a_minute_for_a_session(always: bool) -> None:
    microphone = passing(always=always)
    microphone.open = True
    frames = round(LONGEST_WAIT * RATE) // FRAME
    assert hears(microphone, range(frames + 50), ready=False) == b""
    assert sound(microphone.since(None)) == b"".join(map(coded, range(50, frames + 50)))


@pytest.mark.parametrize("turn", [1, 20, 33])
def test_resampled_sound_goes_on_where_what_was_kept_ends(turn: int) -> None:
    """One stream at the model's rate: no seam between what was kept, messages and the rest."""
    tone = (8000 * np.sin(2 * np.pi * 440 * np.arange(50 * FRAME) / RATE)).astype("<i2")
    microphone = resampling()
    sent: list[str] = []
    for number in range(50):
        if number == turn:
            sent += microphone.since(None)
            assert len(sent) == 1 or turn == 1
            microphone.open = True
        begin = number * FRAME
        message = microphone.hear(
            AudioFrame(tone[begin : begin + FRAME].tobytes(), RATE, START + begin), ready=True
        )
        sent += [message] if message is not None else []
    whole = Resampler(RATE, 24000)
    expected = whole.feed(tone.tobytes()) + whole.flush()
    found = np.frombuffer(sound(sent) + sound(microphone.rest()), "<i2")
    wanted = np.frombuffer(expected, "<i2")
    assert len(found) == len(wanted) == 3 * len(tone)
    assert np.abs(found.astype(int) - wanted).max() <= 2  # a resampler's dither
