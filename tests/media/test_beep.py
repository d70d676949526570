"""Beeps of machines are heard when they end; voices, keys and noise are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import soundfile

from media.beep import LONGEST, BeepDetector
from media.codec import wire_form
from media.frame import AudioFrame
from media.resample import convert

PCMU = wire_form("pcmu", 8000)
RECORDINGS = sorted(Path("tests/data/speech").glob("*/*.flac"))


def tones(seconds: float, *hertz: float, level: float = 0.2) -> npt.NDArray[np.float64]:
    at = np.arange(round(seconds * 8000)) / 8000
    return sum(np.sin(2 * np.pi * each * at) for each in hertz) * level / len(hertz)


def beeps(sound: npt.NDArray[np.float64], noise: float = 0.0005) -> list[float]:
    """Return when beeps ended, in seconds, as a telephone line brings the sound."""
    noisy = sound + np.random.default_rng(1).normal(0, noise, len(sound))
    pcm = PCMU.decode(PCMU.encode(np.clip(noisy * 32767, -32768, 32767).astype("<i2").tobytes()))
    detector = BeepDetector()
    ends = range(320, len(pcm) + 1, 320)
    return [at / 16000 for at in ends if detector.feed(AudioFrame(pcm[at - 320 : at], 8000, 0))]


def silence(seconds: float) -> npt.NDArray[np.float64]:
    return np.zeros(round(seconds * 8000))


@pytest.mark.parametrize("hertz", [440.0, 620.0, 1000.0, 1209.0, 1400.0, 2400.0])
@pytest.mark.parametrize("seconds", [0.2, 0.45, 1.5])
def test_a_beep_is_heard_when_it_ends(hertz: float, seconds: float) -> None:
    sound = np.concatenate([silence(0.505), tones(seconds, hertz), silence(0.5)])
    (end,) = beeps(sound)
    assert end == pytest.approx(0.505 + seconds, abs=0.045)


@pytest.mark.parametrize("level", [0.02, 0.9])
def test_a_beep_may_be_soft_or_loud_and_noise_may_be_under_it(level: float) -> None:
    sound = np.concatenate([silence(0.3), tones(0.4, 1000.0, level=level), silence(0.3)])
    assert len(beeps(sound, noise=level / 10)) == 1


def test_keys_clicks_and_faxes_are_none() -> None:
    key = np.concatenate([silence(0.2), tones(0.5, 770.0, 1336.0), silence(0.2)])
    click = np.concatenate([silence(0.2), tones(0.06, 1000.0), silence(0.2)])
    fax = np.concatenate([silence(0.2), tones(LONGEST + 1.0, 2100.0), silence(0.2)])
    assert [beeps(sound) for sound in (key, click, fax)] == [[], [], []]


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.stem)
def test_nothing_that_people_say_is_one(file: Path) -> None:
    sound, rate = soundfile.read(file, dtype="int16")
    pcm = convert(sound.tobytes(), rate, 8000)
    assert beeps(np.frombuffer(pcm, "<i2") / 32768, noise=0.0) == []
