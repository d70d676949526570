"""`parley turns`: one line an event, the same each time."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gateway.__main__ import main

SPEECH = Path(__file__).parents[2] / "data/speech"
DONE = SPEECH / "complete/tel_ar40_caller_letsdoit.flac"
SPEECH_END = 2.43
"""From the manifest."""


def lines(out: bytes) -> list[dict[str, object]]:
    return [msgspec.json.decode(each) for each in out.splitlines()]


def test_a_finished_turn_ends_once_after_the_speech(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert main(["turns", "--json", str(DONE)]) == 0
    found = lines(capfdbinary.readouterr().out)
    assert {each["file"] for each in found} == {str(DONE)}
    ended = [each for each in found if each["event"] == "ended"]
    assert len(ended) == 1
    assert ended[0]["speech_end"] == pytest.approx(SPEECH_END, abs=0.15)
    assert float(str(ended[0]["at"])) > SPEECH_END
    assessed = [each for each in found if each["event"] == "assessed"]
    assert all(0 <= float(str(each["probability"])) <= 1 for each in assessed)
    assert all("cost_ms" in each for each in assessed)


def test_a_plain_timer_asks_nothing_and_waits(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["turns", "--json", "--silence", "1.2", str(DONE)]) == 0
    found = lines(capfdbinary.readouterr().out)
    assert not [each for each in found if each["event"] == "assessed"]
    (ended,) = [each for each in found if each["event"] == "ended"]
    waited = float(str(ended["at"])) - float(str(ended["speech_end"]))
    assert 1.15 < waited < 1.45  # the gate is let a few windows to be sure of silence


def test_a_sound_over_the_agent_is_an_overlap(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["turns", "--json", "--agent-speaking", "0-4.5", str(DONE)]) == 0
    events = [each["event"] for each in lines(capfdbinary.readouterr().out)]
    assert "overlap" in events


def test_people_read_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["turns", str(DONE)]) == 0
    assert "tel_ar40_caller_letsdoit.flac" in capsys.readouterr().out.splitlines()[0]


def test_a_file_that_cannot_be_read_is_said_and_the_others_are_heard(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.wav").write_text("no sound")
    assert main(["turns", "--json", str(tmp_path / "text.wav"), str(DONE)]) == 1
    out, err = capfd.readouterr()
    assert str(DONE) in out
    assert f"parley: {tmp_path / 'text.wav'}:" in err


@pytest.mark.parametrize(
    "wrong",
    [["--silence", "0"], ["--silence", "x"], ["--agent-speaking", "3-1"], ["--profile", "hasty"]],
)
def test_wrong_use_ends_with_2(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(["turns", *wrong, str(DONE)])
    except SystemExit as ended:
        status = int(str(ended.code))
    assert status == 2
    assert capsys.readouterr().err
