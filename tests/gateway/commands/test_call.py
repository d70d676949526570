"""`parley call`: what it takes, what it refuses, what it prints."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from gateway.__main__ import main
from gateway.caller.plan import CutIn, Keys, Say
from gateway.commands import call

NOBODY = "twilio:ws://127.0.0.1:9/twilio/stream"


@pytest.fixture
def wav(tmp_path: Path) -> str:
    path = tmp_path / "a@b.wav"
    soundfile.write(path, np.zeros(8000), 8000)
    return str(path)


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    call.add_arguments(parser)
    return parser.parse_args(arguments)


def test_steps_keep_their_order(wav: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWILIO_AUTH_TOKEN", "12345")
    args = parsed(
        NOBODY,
        *("--say", wav, "--cut-in", f"{wav}@1.5", "--say", wav, "--key", "1a#@3"),
        *("--hang-up-after", "20", "--loss", "5", "--jitter", "30", "--drop-silent-frames"),
    )
    target, plan, options = call._wanted(args)
    assert target.address == "ws://127.0.0.1:9/twilio/stream"
    assert [type(step) for step in plan.steps] == [Say, CutIn, Say]
    assert isinstance(plan.steps[1], CutIn)
    assert plan.steps[1].after == 1.5
    assert plan.keys == (Keys("1A#", 3.0),)
    assert plan.hang_up_after == 20.0
    assert options.network.loss == 0.05
    assert options.network.jitter == 0.03
    assert options.network.drop_silent
    assert options.auth_token == "12345"
    assert "12345" not in repr(options)


@pytest.mark.parametrize(
    "arguments",
    [
        ["tel:123"],
        [NOBODY, "--say", "none.wav"],
        [NOBODY, "--record", "out"],
    ],
)
def test_wrong_use_is_told_in_one_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["call", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("parley: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("option", ["--cut-in=a.wav", "--cut-in=a.wav@x", "--key=5", "--key=z@1"])
def test_options_that_lack_their_time(option: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["call", NOBODY, option])
    assert ended.value.code == 2


def test_a_call_that_fails_is_one_document_and_status_1(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert main(["call", NOBODY, "--json", "--calls", "2", "--rate", "1000"]) == 1
    out, _ = capfdbinary.readouterr()
    reports = [json.loads(line) for line in out.splitlines()]
    assert [report["answered"] for report in reports] == [False, False]
    assert all("not reached" in report["reason"] for report in reports)


def test_a_call_that_fails_is_told_to_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", NOBODY]) == 1
    out, err = capsys.readouterr()
    assert "not answered: the webhook was not reached" in out
    assert "the call has ended" in err
