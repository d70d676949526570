"""`parley talk`: one turn after the other, for people and for scripts."""

from __future__ import annotations

import io
import json

import pytest

from gateway.__main__ import main


def talk(monkeypatch: pytest.MonkeyPatch, *arguments: str, said: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    return main(["talk", *arguments])


def test_a_script_is_told_each_turn_in_one_object(monkeypatch, capsys) -> None:
    turns = ["I want to leave a message.", "", "Please call me about my car.", "Nope.", "Hello?"]
    assert talk(monkeypatch, "--caller", "+12065550123", "--json", said="\n".join(turns)) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert "Harbor Motors" in told[0]["said"]
    assert [each["name"] for each in told[2]["tools"]] == ["take_message"]
    assert told[2]["tools"][0]["arguments"]["number"] == "+12065550123"
    assert [each["ended"] for each in told] == [False, False, False, True], "nobody is there then"


def test_people_read_it_and_may_cut_in(monkeypatch, capsys) -> None:
    assert talk(monkeypatch, said="My battery is dead.\n/2 What?\n") == 0
    out = capsys.readouterr().out
    assert out.count("agent   ") == 3
    assert out.count("sorry about the battery") == 2
