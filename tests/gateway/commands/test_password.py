"""`parley password`: prints what the settings keep of a password."""

from __future__ import annotations

import io

import pytest

from gateway.__main__ import main
from gateway.doors.passwords import matches


def given(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_a_hash_is_printed_that_matches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given(monkeypatch, "a good long password\n")
    assert main(["password"]) == 0
    kept = capsys.readouterr().out.strip()
    assert matches("a good long password", kept)
    assert not matches("a good long passwore", kept)


@pytest.mark.parametrize("text", ["", "short\n", "x" * 300])
def test_what_is_no_password_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    given(monkeypatch, text)
    assert main(["password"]) == 2
    assert "12 to 256 characters" in capsys.readouterr().err
