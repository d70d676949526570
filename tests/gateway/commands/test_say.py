"""`parley say` and `parley transcribe`: what one says, the other hears."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import soundfile

from gateway.__main__ import main
from media.level import audible

TEXT = "Thank you for calling. How can I help you?"


@pytest.fixture(autouse=True)
def _no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run where no `parley.toml` lies."""
    monkeypatch.chdir(tmp_path)


def test_what_is_said_is_heard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.wav"
    assert main(["say", TEXT, "-o", str(out), "--rate", "8000", "--json"]) == 0
    said = msgspec.json.decode(capsys.readouterr().out)
    samples, rate = soundfile.read(out, dtype="int16")
    assert (said["rate"], rate) == (8000, 8000)
    assert said["seconds"] == pytest.approx(len(samples) / rate, abs=0.001)
    assert 0 < said["first_audio"] < 5
    assert [word["word"] for word in said["words"]] == TEXT.split()
    assert audible(samples, rate)[0][0] / rate <= 0.02
    times = [time for word in said["words"] for time in (word["start"], word["end"])]
    assert times == sorted(times)

    assert main(["transcribe", str(out), "--json"]) == 0
    heard = msgspec.json.decode(capsys.readouterr().out)
    assert heard["file"] == str(out)
    assert heard["text"].lower().startswith("thank you for calling")
    assert heard["seconds"] == said["seconds"]
    assert heard["cost_ms"] > 0


def test_people_read_the_words_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["say", TEXT, "-o", "out.wav"]) == 0
    assert capsys.readouterr().out.startswith("out.wav: ")
    assert main(["transcribe", "out.wav"]) == 0
    assert "thank you for calling" in capsys.readouterr().out.lower()


def test_one_bad_file_does_not_spoil_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["say", TEXT, "-o", "out.wav"]) == 0
    Path("text.wav").write_text("no sound")
    capsys.readouterr()
    assert main(["transcribe", "nowhere.wav", "text.wav", "out.wav"]) == 1
    printed = capsys.readouterr()
    assert "nowhere.wav: no such file" in printed.err
    assert "text.wav" in printed.err
    assert printed.out.startswith("out.wav: Thank you")


def test_nothing_to_say_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["say", "…", "-o", "out.wav"]) == 1
    assert "nothing to say" in capsys.readouterr().err
    assert not Path("out.wav").exists()


def test_a_folder_that_is_not_there_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["say", "Hello.", "-o", "nowhere/out.wav"]) == 1
    assert "nowhere/out.wav" in capsys.readouterr().err


def test_models_that_are_missing_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PARLEY_MODELS", str(tmp_path / "empty"))
    assert main(["say", "Hello.", "-o", "out.wav"]) == 1
    assert main(["transcribe", "out.wav"]) == 1
    complaints = capsys.readouterr().err
    assert complaints.count("parley models fetch") == 2
