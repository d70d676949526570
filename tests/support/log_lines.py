"""A whole call as the call log tells it, for tests of what reads it."""

from __future__ import annotations

from typing import Any

import msgspec

from gateway.log_events import (
    AgentSpokeLogged,
    AnsweredByLogged,
    BackchannelLogged,
    BackendLogged,
    CallEndedLogged,
    CallerSpokeLogged,
    CallFailedLogged,
    CallRefusedLogged,
    CallStartedLogged,
    CallSummaryLogged,
    DeedLogged,
    DraftLogged,
    FaultLogged,
    HeldLogged,
    IdleLogged,
    InputDroppedLogged,
    InterruptedLogged,
    KeyLogged,
    LogDroppedLogged,
    LogEvent,
    LogLostLogged,
    LoopStoodLogged,
    PageToldLogged,
    RecoveredLogged,
    ReleasedLogged,
    ResumedLogged,
    Stages,
    ToolLogged,
    TransferLogged,
    TransferRefusedLogged,
    TurnEndedLogged,
    TurnLogged,
    TurnRejoinedLogged,
    UsageLogged,
    fields_of,
    name_of,
)

CALL = "CA5e1f0c7a49d84b6e9c2f31aa70d8c2b4"

Fields = dict[str, Any]

GREETING = "Thank you for calling Platinum Motors, this is Robin. How can I help you today?"


def stages(*seconds: float) -> Fields:
    """Name the five stages of a turn, and sum them."""
    names = ("end_of_turn", "transcript", "first_token", "first_audio", "line")
    return {
        "stages": dict(zip(names, seconds, strict=True)),
        "response": round(sum(seconds), 4),
    }


STORY: list[tuple[float, str, Fields]] = [
    (
        0.0,
        "call_started",
        {
            "line": "twilio",
            "from": "+12065550142",
            "to": "+12065550100",
            "agent": "workshop",
            "direction": "inbound",
            "codec": "pcmu",
        },
    ),
    (
        5.1,
        "agent_spoke",
        {"utterance": 1, "kind": "greeting", "text": GREETING, "seconds": 4.7},
    ),
    (9.62, "draft", {"outcome": "started", "reply": 1, "probability": 0.41}),
    (9.93, "draft", {"outcome": "dropped", "reply": 1, "why": "resumed"}),
    (12.4, "draft", {"outcome": "started", "reply": 2, "probability": 0.93}),
    (
        12.52,
        "turn_ended",
        {"turn": 1, "why": "semantic", "probability": 0.93, "late": False, "seconds": 6.9},
    ),
    (12.52, "draft", {"outcome": "used", "reply": 2}),
    (
        12.58,
        "caller_spoke",
        {
            "turn": 1,
            "text": "Hi Michelle, my name's Jack, and about two weeks ago I got a car from your "
            "dealership and the service light came on already.",
        },
    ),
    (
        12.84,
        "turn",
        {
            "turn": 1,
            **stages(0.24, 0.06, 0.02, 0.16, 0.1),
            "drafted": True,
            "draft_saved": 0.12,
        },
    ),
    (14.9, "backchannel", {"kind": "backchannel", "text": "Uh-huh."}),
    (
        18.04,
        "agent_spoke",
        {
            "utterance": 2,
            "kind": "reply",
            "text": "I'm sorry to hear that, Jack. What's your last name, and could you spell it?",
            "seconds": 5.2,
        },
    ),
    (23.3, "turn_ended", {"turn": 2, "why": "silence", "probability": 0.31, "seconds": 4.1}),
    (23.41, "caller_spoke", {"turn": 2, "text": "Sure. My last name is, uh, Siciliy."}),
    (23.75, "turn", {"turn": 2, **stages(1.02, 0.11, 0.04, 0.2, 0.1), "drafted": False}),
    (
        25.33,
        "interrupted",
        {
            "utterance": 3,
            "kind": "reply",
            "heard": 1.21,
            "error": 0.02,
            "basis": "acknowledged",
            "queued": 3.4,
            "heard_text": "Thank you, Mr.",
            "text": "Thank you, Mr. Siciliy. What make and model is it, and from what year?",
            "evidence": "words",
            "stop_delay": 0.23,
        },
    ),
    (28.1, "turn_ended", {"turn": 3, "why": "semantic", "probability": 0.88, "seconds": 3.0}),
    (28.2, "caller_spoke", {"turn": 3, "text": "It's a 2018 Tesla Model S."}),
    (28.29, "usage", {"completion_tokens": 20}),
    (28.29, "tool", {"name": "free_times", "effect": "read", "outcome": "asked"}),
    (
        28.3,
        "tool",
        {
            "name": "free_times",
            "effect": "read",
            "seconds": 0.012,
            "outcome": "done",
            "arguments": {"day": "friday"},
            "result": {"times": ["08:00", "09:30"]},
        },
    ),
    (
        29.9,
        "turn",
        {
            "turn": 3,
            **stages(0.26, 0.1, 0.9, 0.14, 0.1),
            "drafted": False,
            "acknowledged": 0.71,
        },
    ),
    (
        33.0,
        "agent_spoke",
        {
            "utterance": 4,
            "kind": "reply",
            "text": "I have Friday at eight, or at half past nine. Which would you like?",
            "seconds": 3.1,
        },
    ),
    (34.0, "resumed", {"kind": "noise", "text": ""}),
    (35.0, "key", {"keys": "1"}),
    (40.2, "fault", {"part": "voice", "reason": "synthesis took over 10 s", "fatal": False}),
    (
        44.75,
        "call_ended",
        {
            "reason": "goodbye",
            "ended_by": "agent",
            "seconds": 44.7,
            "turns": 3,
            "quality": {"late_frames": 0, "missing_frames": 0},
        },
    ),
]


SAMPLES: tuple[LogEvent, ...] = (
    CallStartedLogged(
        line="sip",
        caller="sip:anna@example.com",
        callee="+12065550100",
        agent="workshop",
        direction="inbound",
        codec="pcmu",
        sip_call_id="5f3a9c@far",
        page={"origin": "https://www.example.com", "metadata": {"order": "A-17"}},
        recording="CA5e.wav",
    ),
    CallRefusedLogged(
        line="sip",
        direction="inbound",
        cause="calls",
        said="as many calls as may be",
        agent="workshop",
        caller="sip:anna@example.com",
        callee="+12065550100",
        host="192.0.2.7",
        known_as="5f3a9c@far",
        code=503,
        count=3,
    ),
    CallFailedLogged(
        line="sip",
        outcome="busy",
        agent="workshop",
        caller="+12065550100",
        callee="sip:anna@example.com",
        code=486,
        said="Busy Here",
        seconds=4.2,
    ),
    AnsweredByLogged(kind="machine", by="words", seconds=4.5),
    TurnEndedLogged(
        turn=1,
        why="semantic",
        probability=0.93,
        late=False,
        detector_queue=0.004,
        detector_seconds=0.021,
        seconds=3.1,
        keys="4711#",
    ),
    CallerSpokeLogged(turn=1, text="My name is Jack Siciliy"),
    DraftLogged(outcome="dropped", reply=1, probability=0.41, why="resumed"),
    TurnLogged(
        turn=1,
        stages=Stages(0.24, 0.06, 0.02, 0.16, 0.1),
        response=0.58,
        drafted=True,
        draft_saved=0.12,
        acknowledged=0.3,
        held=1.5,
    ),
    AgentSpokeLogged(utterance=2, kind="reply", text="Thank you, Jack", seconds=1.9, turn=1),
    InterruptedLogged(
        utterance=3,
        kind="reply",
        heard=1.21,
        error=0.02,
        basis="acknowledged",
        queued=3.4,
        heard_text="Thank you, Mr.",
        text="Thank you, Mr. Siciliy",
        evidence="words: hold on Siciliy, 0.82 s",
        stop_delay=0.23,
        turn=1,
    ),
    TurnRejoinedLogged(turn=2, before=1),
    BackchannelLogged(kind="backchannel", text="Jack nods"),
    ResumedLogged(kind="noise", text="Jack coughs"),
    ToolLogged(
        name="book",
        outcome="failed",
        ask="a1",
        arguments={"name": "Jack"},
        question="Shall I book Jack in?",
        code="taken",
        late=True,
        effect="write",
        drafted=False,
        seconds=0.2,
        turn=1,
    ),
    DeedLogged(
        name="book",
        key="5f3a",
        state="over",
        arguments={"name": "Jack"},
        code="taken",
        outcome="failed",
    ),
    KeyLogged(keys="4711"),
    PageToldLogged(text="The basket holds two bicycles"),
    InputDroppedLogged(kind="keys", count=12),
    IdleLogged(asked=1),
    HeldLogged(why="hold"),
    ReleasedLogged(seconds=4.2),
    BackendLogged(name="second", state="lost", next="retry"),
    UsageLogged(figures={"completion_tokens": 20, "details": {"cached_tokens": 3}}),
    TransferLogged(accepted=False, reason="486 Busy Here"),
    TransferRefusedLogged(target="+19005550123", reason="not in transfers"),
    FaultLogged(part="voice", reason="synthesis took over 10 s", fatal=False, seconds=10.0),
    RecoveredLogged(part="voice_activity"),
    CallEndedLogged(
        reason="goodbye",
        ended_by="agent",
        seconds=44.7,
        turns=3,
        quality={"mos": 4.2},
        open_deeds=["book"],
    ),
    CallSummaryLogged(
        began="2026-03-02T14:02:11.500Z",
        line="sip",
        direction="inbound",
        agent="workshop",
        caller="sip:anna@example.com",
        callee="+12065550100",
        recording="CA5e.wav",
        ended_by="agent",
        reason="goodbye",
        seconds=44.7,
        turns=3,
        response_median=0.58,
        response_max=0.58,
        cut_ins=1,
        stop_delay_median=0.23,
        went_on=2,
        tools=0,
        deeds=1,
        faults=1,
        held=4.2,
    ),
    LoopStoodLogged(kind="blocked", seconds=0.8, stacks={"MainThread": ["tools.py:12 book"]}),
    LogDroppedLogged(lines=3),
    LogLostLogged(lines=4),
)
"""One line of every kind, each with all its fields."""


def whole(at: float, event: str, call: str = CALL, **changes: Any) -> bytes:
    """Write a line of an event with all its fields, some of them as given; None: without it."""
    return line(at, event, _changed(event, changes), call)


def logged(event: str, **changes: Any) -> LogEvent:
    """Return an event with all its fields, some of them as given; None: without it."""
    told: LogEvent = msgspec.convert({"event": event, **_changed(event, changes)}, LogEvent)
    return told


def _changed(event: str, changes: Fields) -> Fields:
    sample = next(each for each in SAMPLES if name_of(each) == event)
    fields = fields_of(sample) | changes
    return {name: value for name, value in fields.items() if value is not None}


def line(at: float, event: str, fields: Fields, call: str = CALL, day: str = "2026-03-02") -> bytes:
    """Write one line as the journal does, without its line end; the call begins at 14:02:11."""
    second = 11.5 + at
    clock = f"{day}T14:{2 + int(second // 60):02d}:{second % 60:06.3f}Z"
    return msgspec.json.encode({"ts": clock, "call": call, "at": at, "event": event, **fields})


def story(call: str = CALL, day: str = "2026-03-02") -> list[bytes]:
    """Return every line of the call."""
    return [line(at, event, fields, call, day) for at, event, fields in STORY]
