"""Recordings are brought to the line's rate, and it is known where somebody speaks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from gateway.caller.sound import load, recording


def sweep(rate: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    time = np.arange(rate) / rate
    return 0.3 * np.sin(2 * np.pi * 300 * time) * ((time >= 0.3) & (time < 0.8))


@pytest.mark.parametrize(("rate", "kind"), [(8000, "wav"), (16000, "flac"), (44100, "wav")])
def test_any_rate(tmp_path: Path, rate: int, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    soundfile.write(path, sweep(rate), rate)
    sound = load(path, 8000)
    assert sound.name == path.name
    assert sound.seconds == pytest.approx(1.0, abs=0.001)
    assert sound.speech_start / 8000 == pytest.approx(0.3, abs=0.02)
    assert sound.speech_end / 8000 == pytest.approx(0.8, abs=0.02)


def test_what_cannot_be_played_is_told(tmp_path: Path) -> None:
    stereo = tmp_path / "stereo.wav"
    soundfile.write(stereo, np.zeros((800, 2)), 8000)
    with pytest.raises(ValueError, match="2 channels"):
        load(stereo, 8000)
    text = tmp_path / "text.wav"
    text.write_text("hello")
    with pytest.raises(ValueError, match=r"text\.wav"):
        load(text, 8000)
    with pytest.raises(FileNotFoundError, match="no such file"):
        load(tmp_path / "none.wav", 8000)


def test_silence_counts_as_a_whole() -> None:
    sound = recording("quiet", bytes(1600), 8000)
    assert (sound.speech_start, sound.speech_end) == (0, 800)
