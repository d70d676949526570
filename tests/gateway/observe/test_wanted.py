"""What is asked for of a log is what comes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.__main__ import main
from gateway.observe.lines import parse
from gateway.observe.wanted import Choice, Wanted
from tests.support.log_lines import CALL, story, whole

OTHER = "CAother"
LINES = [
    *story(),
    whole(50.0, "call_started", OTHER, agent="desk"),
    whole(51.0, "caller_spoke", OTHER, text="My SERVICE Light is on"),
    whole(52.0, "call_ended", OTHER),
    whole(53.0, "call_refused", "", agent="desk"),
    whole(54.0, "call_refused", "", agent="workshop", said="busy"),
]


def chosen(wanted: Wanted) -> list[tuple[str, str]]:
    choice = Choice(wanted)
    return [(each.call, each.event) for each in map(parse, LINES) if choice.takes(each)]


def test_an_agents_calls_with_those_it_never_got() -> None:
    desk = chosen(Wanted(agent="desk"))
    assert desk == [
        (OTHER, "call_started"),
        (OTHER, "caller_spoke"),
        (OTHER, "call_ended"),
        ("", "call_refused"),
    ]
    assert len(chosen(Wanted(agent="workshop"))) == len(LINES) - len(desk)
    assert chosen(Wanted(agent="nobody")) == []


def test_words_are_found_whatever_their_case_and_however_deep() -> None:
    assert chosen(Wanted(words="service light")) == [
        (CALL, "caller_spoke"),
        (OTHER, "caller_spoke"),
    ]
    assert (CALL, "tool") in chosen(Wanted(words="09:30"))


def test_a_time_is_from_and_up_to() -> None:
    since, until = "2026-03-02T14:02:34.000Z", "2026-03-02T14:02:36.000Z"
    assert chosen(Wanted(since=since, until=until)) == [
        (CALL, "turn_ended"),
        (CALL, "caller_spoke"),
        (CALL, "turn"),
    ]
    late = chosen(Wanted(since=since, until=until, agent="workshop", words="Siciliy"))
    assert late == [(CALL, "caller_spoke")]


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log"
    path.write_bytes(b"\n".join(LINES) + b"\n")
    return str(path)


def test_the_command_takes_them_together(
    log: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    asked = ["--agent", "desk", "--search", "light", "--since", "2026-03-02T14:00:00Z"]
    assert main(["logs", "--json", "--file", log, *asked]) == 0
    (line,) = capfdbinary.readouterr().out.splitlines()
    assert parse(line).call == OTHER


def test_what_is_not_there_and_what_is_no_time_is_said(
    log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["logs", "--file", log, "--search", "nowhere"]) == 1
    assert capsys.readouterr().err == f"parley: nothing in {log} is what was asked for\n"
    assert main(["logs", "--file", log, "--until", "soon"]) == 2
    assert capsys.readouterr().err.startswith("parley: --until: found 'soon', it must be a span")
