"""A response that was cancelled is void: nothing that it still asks for or says counts."""

from __future__ import annotations

import json
from typing import Any

from gateway.backends.conversion import Conversion
from gateway.backends.realtime.session import RealtimeSession
from gateway.backends.realtime.settings import RealtimeSettings
from gateway.backends.session import Output
from gateway.events import BackendLost, CallInfo, CancelReply, Respond, ToolAsked
from gateway.ports import BackendStart

CALL = {"response_id": "r1", "item_id": "i1", "call_id": "a1", "name": "book", "arguments": "{}"}


def session() -> RealtimeSession:
    start = BackendStart(CallInfo("c1", "twilio", "test"), "Be kind.")
    made = RealtimeSession(start, RealtimeSettings(), Conversion("pcmu", 8000, 24000, passes=True))
    says(made, "session.updated")
    made.perform(Respond(1, 1, 10, 0, 8000, text="Book it"))
    return made


def says(to: RealtimeSession, kind: str, **fields: Any) -> Output:
    return to.receive(json.dumps({"type": kind, **fields}).encode())


def sent(output: Output) -> list[str]:
    return [json.loads(message)["type"] for message in output.send]


def test_a_tool_that_a_cancelled_response_asks_for_is_not_asked_for() -> None:
    kept, cancelled = session(), session()
    for each in (kept, cancelled):
        says(each, "response.created", response={"id": "r1"})
    assert sent(cancelled.perform(CancelReply(1))) == ["response.cancel"]
    said = [
        says(each, "response.function_call_arguments.done", **CALL) for each in (kept, cancelled)
    ]
    assert [len(output.emit) for output in said] == [1, 0]
    assert isinstance(said[0].emit[0], ToolAsked)


def test_it_is_cancelled_once_and_also_where_it_has_no_name_yet() -> None:
    made = session()
    assert sent(made.perform(CancelReply(1))) == ["response.cancel"]
    assert sent(made.perform(CancelReply(1))) == []
    assert sent(says(made, "response.created", response={"id": "r1"})) == ["response.cancel"]


def test_that_it_failed_is_no_loss() -> None:
    made = session()
    says(made, "response.created", response={"id": "r1"})
    made.perform(CancelReply(1))
    over = says(made, "response.done", response={"id": "r1", "status": "failed"})
    assert not [event for event in over.emit if isinstance(event, BackendLost)]
