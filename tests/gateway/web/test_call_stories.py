"""The latest calls, as the log tells them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gateway.observe.lines import LogLine, parse
from gateway.web.call_stories import CALLS_MOST, TURNS_MOST, Recent
from gateway.web.feed import Feed
from tests.support.log_lines import whole


def line(event: str, at: float = 1.0, call: str = "A1", **fields: Any) -> bytes:
    told = json.loads(whole(at, event, call, **fields))
    return json.dumps({**told, "ts": "2026-05-01T10:00:00.000Z"}).encode()


def parsed(*lines: bytes) -> list[LogLine]:
    return [parse(one) for one in lines]


STAGES = {
    "end_of_turn": 0.3,
    "transcript": 0.2,
    "first_token": 0.0,
    "first_audio": 0.1,
    "line": 0.05,
}
STORY = (
    line("call_started", 0.0, line="webrtc", agent="desk", **{"from": "Ada"}),
    line("agent_spoke", 3.0, utterance=1, kind="greeting", text="Good morning."),
    line("turn_ended", 5.0, turn=1, why="semantic"),
    line("caller_spoke", 5.2, turn=1, text="Is my car ready?"),
    line("tool", 5.3, name="find_car", outcome="asked"),
    line("tool", 5.5, name="find_car", outcome="done", seconds=0.2),
    line("turn", 5.9, turn=1, stages=STAGES, response=0.65, drafted=True),
    line("interrupted", 7.0, utterance=2, kind="reply", heard_text="It will", stop_delay=0.3),
    line("turn_ended", 8.0, turn=2, why="silence"),
    line("caller_spoke", 8.1, turn=2, text="Never mind."),
    line("fault", 8.5, part="model", reason="timeout"),
    line("call_ended", 9.0, ended_by="caller", reason="hung up", seconds=9.0, turns=2),
)  # fmt: skip


def test_a_call_is_told_with_its_turns() -> None:
    recent = Recent()
    recent.take(parsed(*STORY))
    (call,) = recent.since(0)
    assert (call.id, call.line, call.agent, call.caller) == ("A1", "webrtc", "desk", "Ada")
    assert call.greeting == "Good morning."
    assert (call.over, call.ended_by, call.seconds) == (True, "caller", 9.0)
    assert call.cut_ins == 1
    assert call.faults == ["model: timeout"]
    first, second = call.turns
    assert (first.turn, first.caller, first.agent) == (1, "Is my car ready?", "It will")
    assert first.cut
    assert first.stages == STAGES
    assert first.response == 0.65
    assert first.drafted
    assert first.tools == ["find_car"]
    assert (second.caller, second.response) == ("Never mind.", None)


def test_a_call_of_a_process_that_died_is_not_in_progress() -> None:
    begun = line("call_started", 0.0, line="webrtc", agent="desk")
    recent = Recent(started="2026-05-01T10:00:00.001Z")
    recent.take(parsed(begun))
    (call,) = recent.since(0)
    assert (call.over, call.ended_by, call.reason) == (True, "failure", "the gateway went away")
    recent.take(parsed(line("call_ended", 9.0, ended_by="caller", reason="hung up")))
    (call,) = recent.since(0)
    assert (call.over, call.ended_by, call.reason) == (True, "caller", "hung up")
    present = Recent(started="2026-05-01T10:00:00.000Z")
    present.take(parsed(begun))
    assert not present.since(0)[0].over


def test_what_is_new_can_be_asked_for() -> None:
    recent = Recent()
    recent.take(parsed(*STORY))
    version = recent.version
    assert recent.since(version) == []
    recent.take(parsed(line("call_started", 0.0, "B2", line="sip", agent="desk")))
    assert [call.id for call in recent.since(version)] == ["B2"]


def test_a_call_whose_beginning_is_not_there_is_not_shown() -> None:
    recent = Recent()
    recent.take(parsed(*STORY[1:]))
    assert recent.since(0) == []


def test_what_was_typed_is_a_turn() -> None:
    recent = Recent()
    recent.take(parsed(STORY[0], line("caller_spoke", 4.0, turn=1, text="hi")))
    (turn,) = recent.since(0)[0].turns
    assert (turn.why, turn.caller) == ("typed", "hi")


def test_neither_calls_nor_turns_grow_without_bound() -> None:
    recent = Recent()
    for number in range(3 * CALLS_MOST):
        recent.take(parsed(line("call_started", 0.0, f"C{number}")))
    last = f"C{3 * CALLS_MOST - 1}"
    for number in range(3 * TURNS_MOST):
        recent.take(parsed(line("turn_ended", 1.0, last, turn=number)))
    calls = recent.since(0)
    assert len(calls) == CALLS_MOST
    assert len(calls[-1].turns) == TURNS_MOST


def test_lines_of_another_kind_change_nothing() -> None:
    recent = Recent()
    recent.take(parsed(STORY[0]))
    odd = [
        line("turn", turn=9, stages="none"),
        line("turn", turn=1, stages={"end_of_turn": "x"}),
        line("caller_spoke", turn=None, text=""),
        line("key").replace(b'"key"', b'"dance"'),
        line("fault", call=""),
    ]
    recent.take(parsed(*odd))
    (call,) = recent.since(0)
    assert call.turns == []


def test_a_log_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    feed = Feed(path)
    assert feed.news(0) == (0, b"[]")
    path.write_bytes(b"".join(one + b"\n" for one in (*STORY[:4], b"no JSON at all")))
    version, calls = feed.news(0)
    (call,) = json.loads(calls)
    assert call["turns"][0]["caller"] == "Is my car ready?"
    assert feed.news(version) == (version, b"[]")
    with path.open("ab") as log:
        log.write(b"".join(one + b"\n" for one in STORY[4:]))
    later, calls = feed.news(version)
    assert later > version
    assert json.loads(calls)[0]["over"]
    feed.close()


def test_a_log_that_goes_elsewhere_has_no_calls() -> None:
    assert Feed(None).news(0) == (0, b"[]")
