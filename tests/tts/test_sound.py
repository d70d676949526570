"""What makes sound fit for a telephone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from media.level import audible, level
from tts.english import ENGLISH
from tts.normalise import normalise
from tts.sound import PAUSES, Sound, SpokenWord, finish, join, written_words

SOURCE = 24000


def tone(seconds: float, hertz: float = 440.0, amplitude: float = 0.1) -> np.ndarray:
    at = np.arange(int(seconds * SOURCE)) / SOURCE
    return (amplitude * np.sin(2 * np.pi * hertz * at)).astype(np.float32)


def quiet(seconds: float) -> np.ndarray:
    return np.zeros(int(seconds * SOURCE), np.float32)


@pytest.mark.parametrize("rate", [8000, 16000, 24000, 48000])
@pytest.mark.parametrize("amplitude", [0.005, 0.1, 0.9, 3.0])
def test_silence_goes_and_the_level_is_the_same(rate: int, amplitude: float) -> None:
    samples = np.concatenate([quiet(0.3), tone(1.0, amplitude=amplitude), quiet(0.5)])
    pcm, cut = finish(samples, SOURCE, rate)
    assert 0.28 <= cut <= 0.3
    assert level(pcm) == pytest.approx(-20, abs=0.4)
    ((start, end),) = audible(pcm, rate)
    assert start / rate <= 0.02
    assert 0.99 <= (end - start) / rate <= 1.01
    assert len(pcm) / 2 / rate <= 1.08


def test_pauses_do_not_make_it_louder() -> None:
    samples = np.concatenate([tone(0.5), quiet(0.5), tone(0.5)])
    pcm, _ = finish(samples, SOURCE, 8000)
    assert level(pcm[:4000]) == pytest.approx(-20, abs=0.7)


def test_what_a_telephone_does_not_carry_is_silence_there() -> None:
    hiss = tone(0.2, hertz=6000)
    hiss *= np.hanning(len(hiss)).astype(np.float32)
    both = np.concatenate([hiss, tone(0.5)])
    assert finish(both, SOURCE, 8000)[1] == pytest.approx(0.185, abs=0.015)
    assert finish(both, SOURCE, 24000)[1] < 0.02


def test_a_peak_is_not_clipped() -> None:
    click = quiet(0.001)
    click[5:15] = 1.0
    pcm, _ = finish(np.concatenate([tone(0.5), click, tone(0.5)]), SOURCE, SOURCE)
    assert np.abs(np.frombuffer(pcm, "<i2").astype(int)).max() <= 0.9 * 32768


@pytest.mark.parametrize(
    "samples",
    [quiet(0), quiet(1), tone(1, amplitude=1e-5), np.full(2400, np.nan, np.float32)],
    ids=["nothing", "silence", "faint", "broken"],
)
def test_what_nobody_hears_is_nothing(samples: np.ndarray) -> None:
    assert finish(samples, SOURCE, 8000) == (b"", 0.0)


def test_both_ends_begin_at_nothing() -> None:
    pcm, _ = finish(tone(0.5), SOURCE, 8000)
    samples = np.frombuffer(pcm, "<i2")
    assert abs(int(samples[0])) < 100
    assert abs(int(samples[-1])) < 300


def test_a_written_word_lasts_as_long_as_what_is_said_for_it() -> None:
    said = normalise("Pay $12.50 now 👍", ENGLISH)
    times = [(number / 10, (number + 1) / 10) for number in range(7)]
    assert written_words(said, times, 0.65) == (
        SpokenWord("Pay", 0.0, 0.1),
        SpokenWord("$12.50", 0.1, 0.6),
        SpokenWord("now 👍", 0.6, 0.65),
    )


def test_sounds_are_joined_with_the_pause_of_their_mark() -> None:
    rate = 1000
    first = Sound(bytes(2 * 500), (SpokenWord("One,", 0.0, 0.5),), ",")
    second = Sound(bytes(2 * 300), (SpokenWord("two.", 0.1, 0.3),), ".")
    both = join([first, second], rate)
    assert both.seconds(rate) == pytest.approx(0.8 + PAUSES[","])
    assert both.words[1].start == pytest.approx(0.5 + PAUSES[","] + 0.1)
    assert both.mark == "."


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.sampled_from(["", ",", "."])).map(
            lambda each: Sound(bytes(2 * each[0]), mark=each[1])
        ),
        max_size=6,
    )
)
def test_joining_begins_and_ends_with_sound(sounds: list[Sound]) -> None:
    rate = 1000
    both = join(sounds, rate)
    voiced = [each for each in sounds if each.pcm]
    least = sum(len(each.pcm) for each in voiced)
    most = least + 2 * int(rate * max(PAUSES.values())) * max(0, len(voiced) - 1)
    assert least <= len(both.pcm) <= most
