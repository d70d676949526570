"""Who answers: people say a word and wait, machines go on and beep."""

from __future__ import annotations

import numpy as np
import pytest

from gateway.lines.sip.answering_machine import BEEP_WITHIN, Answered, MachineDetector
from media.frame import AudioFrame
from tests.support.sip_answers import tone

RANDOM = np.random.default_rng(1)


def voice(seconds: float) -> bytes:
    """Make something like a vowel: a pitch with many overtones, and noise."""
    at = np.arange(round(seconds * 8000)) / 8000
    sound = sum(np.sin(2 * np.pi * 130 * k * at) / k for k in range(1, 20))
    noise = RANDOM.normal(0, 0.2, len(at))
    return (4000 * (sound + noise)).astype("<i2").tobytes()


def silence(seconds: float) -> bytes:
    return RANDOM.normal(0, 8, round(seconds * 8000)).astype("<i2").tobytes()


def word(count: int = 1) -> bytes:
    return (voice(0.3) + silence(0.14)) * count


def judged(sound: bytes) -> list[Answered]:
    detector, found = MachineDetector(), []
    for at in range(0, len(sound) - 319, 320):
        one = detector.feed(AudioFrame(sound[at : at + 320], 8000, at // 2))
        if one is not None:
            found.append(one)
    return found


def kinds(sound: bytes) -> list[str]:
    return [one.kind for one in judged(sound)]


@pytest.mark.parametrize("words", [1, 2, 3])
def test_a_person_says_a_little_and_waits(words: int) -> None:
    (one,) = judged(silence(0.6) + word(words) + silence(3.0))
    assert (one.kind, one.words) == ("person", words)
    assert one.seconds < 1.3


def test_a_machine_goes_on() -> None:
    (one,) = judged(silence(0.6) + word(8) + silence(3.0))
    assert one.kind == "machine"


def test_one_long_word_is_a_machine_too() -> None:
    assert kinds(silence(0.3) + voice(2.0) + silence(2.0)) == ["machine"]


def test_nobody_speaks() -> None:
    (one,) = judged(silence(6.0))
    assert (one.kind, one.words) == ("silence", 0)


@pytest.mark.parametrize("hertz", [440.0, 1000.0, 1400.0, 2400.0])
def test_the_beep_is_heard_when_it_ends(hertz: float) -> None:
    greeting = silence(0.5) + word(10) + silence(0.5)
    found = judged(greeting + tone(hertz, 0.4) + silence(1.0))
    assert [one.kind for one in found] == ["machine", "beep"]
    assert found[1].seconds == pytest.approx(len(greeting) / 16000 + 0.42, abs=0.06)


def test_voices_and_clicks_are_no_beep() -> None:
    assert kinds(silence(0.5) + word(30) + tone(1000, 0.06) + silence(1.0)) == ["machine"]


def test_a_beep_is_not_waited_for_for_ever() -> None:
    late = silence(0.5) + word(10) + silence(BEEP_WITHIN) + tone(1000, 0.4) + silence(0.5)
    assert kinds(late) == ["machine"]
