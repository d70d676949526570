"""Spans of a call: a turn at a time, with the log's own times, and nothing personal unasked."""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.log_events import (
    AgentSpokeLogged,
    CallEndedLogged,
    CallerSpokeLogged,
    CallStartedLogged,
    InterruptedLogged,
    LogEvent,
    Stages,
    ToolLogged,
    TurnEndedLogged,
    TurnLogged,
    UsageLogged,
)
from gateway.observe.files import all_files
from gateway.observe.journal import Journal
from gateway.observe.lines import LogLine, parse
from gateway.observe.settings import LogSettings
from gateway.plumbing.trace_context import span_id, trace_id, traceparent
from gateway.traces.calls import Traces
from gateway.traces.span import Span
from gateway.traces.spans import seconds

STAGES = Stages(end_of_turn=0.2, transcript=0.05, first_token=0.15, first_audio=0.1, line=0.1)
SECRET = "the code is four two"

CALL: Sequence[tuple[float, LogEvent]] = (
    (0.0, CallStartedLogged(
        line="sip", caller="+19005550123", callee="+19005550100", agent="workshop",
        direction="inbound", codec="pcmu",
    )),
    (3.0, AgentSpokeLogged(utterance=1, kind="greeting", text="Hello.", seconds=1.0)),
    (6.0, CallerSpokeLogged(turn=1, text=SECRET)),
    (6.2, TurnEndedLogged(turn=1, why="semantic", probability=0.93, seconds=2.0)),
    (6.25, ToolLogged(name="book", outcome="asked", ask="a1", arguments={"code": SECRET})),
    (6.35, ToolLogged(name="book", outcome="done", ask="a1", seconds=0.1)),
    (6.5, UsageLogged(figures={"prompt_tokens": 90, "completion_tokens": 5})),
    (6.6, TurnLogged(turn=1, stages=STAGES, response=0.6, drafted=False)),
    (8.0, InterruptedLogged(
        utterance=2, kind="reply", heard=1.2, error=0.02, basis="sent", queued=3.0,
        heard_text="Your", text="Your car is ready.", evidence=f"words: {SECRET}, 0.5 s",
        stop_delay=0.3, turn=1,
    )),
    (9.2, TurnEndedLogged(turn=2, why="silence", seconds=1.0)),
    (9.9, TurnLogged(turn=2, stages=STAGES, response=0.6, drafted=True)),
    (12.0, AgentSpokeLogged(utterance=3, kind="reply", text="Goodbye.", seconds=2.1, turn=2)),
    (12.1, TurnEndedLogged(turn=3, why="silence", seconds=0.1)),
    (13.0, CallEndedLogged(reason="hung up", ended_by="caller", seconds=13.0, turns=3)),
)  # fmt: skip


def written(folder: Path) -> Path:
    """Write the call as a gateway does, over rotations."""
    path = folder / "calls.jsonl"
    settings = LogSettings(path=str(path), rotate_mb=0.0005, keep=50)
    clock = [0.0]
    with Journal(settings, clock=lambda: 0.0, wall=lambda: 1772460131.5 + clock[0]) as journal:
        log = journal.bind("CA1", 0.0)
        for at, event in CALL:
            clock[0] = at
            log.write(event, at)
            assert journal.settle(5.0)
    assert len(list(folder.glob("calls.jsonl.*"))) > 2
    return path


def whole(path: Path) -> list[LogLine]:
    """Read a log over all of its files."""
    return [parse(raw) for each in all_files(path) for raw in each.read_bytes().splitlines()]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[LogLine]:
    return whole(written(tmp_path_factory.mktemp("log")))


def spans(told: Sequence[LogLine], personal: bool = False) -> list[Span]:
    traces = Traces(personal)
    return [span for line in told for span in traces.take(line)]


def test_a_turn_is_a_span_with_its_stages_below_it(told: list[LogLine]) -> None:
    found = spans(told)
    began = seconds(told[0].ts)
    roots = [each for each in found if not each.parent]
    assert [(each.attributes["parley.turn.number"],
             each.attributes["gen_ai.agent.invocation.end_reason"]) for each in roots] == [
        (0, "completed"), (1, "interrupted"), (2, "completed"), (3, "session_closed")]  # fmt: skip
    first = [each for each in found if each.parent == roots[1].id]
    assert [each.name for each in first] == [
        "speech_to_text", "chat", "text_to_speech", "execute_tool book",
    ]  # fmt: skip
    at = {each.name: (each.start - began, each.end - began) for each in first}
    assert at["speech_to_text"] == pytest.approx((6.2, 6.25), abs=1e-3)
    assert at["chat"] == pytest.approx((6.25, 6.4), abs=1e-3)
    assert at["text_to_speech"] == pytest.approx((6.4, 6.5), abs=1e-3)
    assert at["execute_tool book"] == pytest.approx((6.25, 6.35), abs=1e-3)
    assert roots[1].attributes["parley.perceived_latency"] == 0.6
    assert roots[1].attributes["parley.heard.seconds"] == 1.2
    assert roots[1].end - began == pytest.approx(8.0, abs=1e-3)
    chat = first[1].attributes
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.output_tokens"]) == (90, 5)


def test_a_call_shares_a_trace_and_is_no_span(told: list[LogLine]) -> None:
    found = spans(told)
    assert {each.trace for each in found} == {trace_id("CA1")}
    assert len({each.id for each in found}) == len(found)
    assert max(each.end - each.start for each in found) < 7.0
    assert traceparent("CA1") == {"traceparent": f"00-{trace_id('CA1')}-{span_id('CA1')}-01"}


def test_what_is_personal_is_told_where_it_is_asked_for(told: list[LogLine]) -> None:
    assert SECRET not in str(spans(told))
    assert "Goodbye" not in str(spans(told))
    asked = spans(told, personal=True)
    told_of = [pair for each in asked for pair in each.attributes.items()]
    named = {name for name, value in told_of if SECRET in str(value)}
    assert named == {"parley.pii.caller_text", "parley.pii.tool_arguments"}


def test_a_speech_to_speech_model_is_one_inference() -> None:
    traces = Traces()
    story = [
        (at, UsageLogged(figures={"input_tokens": 7, "output_tokens": 3})
         if isinstance(event, UsageLogged) else event)
        for at, event in CALL
    ]  # fmt: skip
    found = [
        span
        for at, event in story
        for span in traces.take(LogLine("2026-03-02T14:02:11.500Z", "CA1", at, "", {}, event))
    ]
    names = [each.name for each in found if each.parent]
    assert names[:2] == ["realtime_inference", "execute_tool book"]


def test_a_call_whose_beginning_is_not_there_is_left_out(told: list[LogLine]) -> None:
    assert spans(told[1:]) == []


def installed(module: str) -> bool:
    """Say whether there is such a module."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@contextmanager
def tap() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `oteltap`, an OTLP receiver that no one here wrote; it prints what it gets."""
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    command = [sys.executable, "-u", "-m", "oteltap", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield f"http://127.0.0.1:{port}", process
        finally:
            process.kill()


MISSING = [name for name in ("oteltap", "opentelemetry.sdk") if not installed(name)]


@pytest.mark.peer
@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_a_receiver_that_is_not_ours_gets_every_turn(tmp_path: Path) -> None:
    path = written(tmp_path)
    with tap() as (url, receiver):
        command = [sys.executable, "-m", "gateway", "export", "--otlp", url, "--all"]
        sent = subprocess.run([*command, "--file", str(path)], check=False, timeout=60)
        assert sent.returncode == 0
        receiver.kill()
        assert receiver.stdout is not None
        got: list[dict[str, Any]] = [
            json.loads(line) for line in receiver.stdout if line.startswith("{")
        ]
    expected = spans(whole(path))
    assert len(got) == len(expected) == 11
    by_id = {each["spanId"]: each for each in got}
    for span in expected:
        one = by_id[span.id]
        assert (one["traceId"], one["parentSpanId"], one["name"]) == (
            span.trace, span.parent, span.name,
        )  # fmt: skip
        assert abs(int(one["startTimeUnixNano"]) / 1e9 - span.start) < 0.001
        assert abs(int(one["endTimeUnixNano"]) / 1e9 - span.end) < 0.001
    assert SECRET not in json.dumps(got)
