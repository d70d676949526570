from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from gateway.backends.conversion import Conversion
from gateway.backends.nova import wire
from gateway.backends.nova.backend import nova_backend, nova_traits
from gateway.backends.nova.session import NovaSession
from gateway.backends.nova.settings import NovaSettings
from gateway.backends.session import Output, Reach, SessionBackend
from gateway.events import (
    AgentAudio,
    AnswerTool,
    BackendLost,
    BackendReady,
    BackendTurn,
    CallerWords,
    CallInfo,
    CancelReply,
    Entry,
    Inform,
    ReplyEnded,
    ReplyText,
    Respond,
    ToolAsked,
    UsageReported,
    UtteranceEnded,
)
from gateway.plumbing.virtual_time import run
from gateway.ports import BackendEvent, BackendStart, ToolSpec
from media.frame import AudioFrame
from tests.support.bedrock_order import InputOrder
from tests.support.model_server import LOOKUP

SOUND = b"\x01\x02" * 80


class Talk:
    """A session, what it sent and what it told; turns get the numbers n and 10 n."""

    def __init__(
        self, settings: NovaSettings | None = None, rate: int = 8000, **start: Any
    ) -> None:
        info = CallInfo("c1", "twilio", "test", rate=rate)
        begin = BackendStart(info, "Be kind.", (LOOKUP,), next_utterance=lambda: 50, **start)
        model = rate if rate in wire.RATES else 24000
        self.session = NovaSession(
            begin,
            settings or NovaSettings(),
            model,
            Conversion("pcmu", rate, model, passes=False),
        )
        self.sent = [event(message) for message in self.session.opening()]
        self.told: list[BackendEvent] = []
        self.turns = 0
        self._ids = 0

    def take(self, output: Output | None) -> None:
        assert output is not None
        self.sent += [event(message) for message in output.send]
        for one in output.emit:
            self.told.append(one)
            if one == BackendTurn("ended"):
                self.turns += 1
                self.perform(Respond(self.turns, self.turns, self.turns * 10, 0, 0))

    def perform(self, command: Any) -> None:
        self.take(self.session.perform(command))

    def says(self, kind: str, **fields: Any) -> None:
        self.take(self.session.receive(json.dumps({"event": {kind: fields}}).encode()))

    def begin(self, kind: str, role: str, stage: str = "") -> str:
        self._ids += 1
        block = f"b{self._ids}"
        fields: dict[str, Any] = {"contentId": block, "type": kind, "role": role}
        if stage:
            fields["additionalModelFields"] = json.dumps({"generationStage": stage})
        self.says("contentStart", completionId="c", **fields)
        return block

    def text(self, role: str, stage: str, content: str, stop: str = "PARTIAL_TURN") -> None:
        block = self.begin("TEXT", role, stage)
        self.says("textOutput", contentId=block, content=content)
        self.says("contentEnd", contentId=block, type="TEXT", stopReason=stop)

    def audio(self, stop: str = "", block: str = "") -> str:
        block = block or self.begin("AUDIO", "ASSISTANT")
        content = base64.b64encode(SOUND).decode()
        self.says("audioOutput", contentId=block, content=content)
        if stop:
            self.says("contentEnd", contentId=block, type="AUDIO", stopReason=stop)
        return block

    def answer(self, text: str) -> None:
        self.text("USER", "FINAL", "hello")
        self.text("ASSISTANT", "SPECULATIVE", text)
        self.audio("END_TURN")
        self.text("ASSISTANT", "FINAL", text, "END_TURN")

    def of(self, kind: type) -> list[Any]:
        return [one for one in self.told if isinstance(one, kind)]

    def kinds(self) -> list[str]:
        return [name for name, _ in self.sent]


def event(message: str) -> tuple[str, dict[str, Any]]:
    """Take one of our events apart; each has exactly one name."""
    ((name, fields),) = json.loads(message)["event"].items()
    return name, fields


def test_everything_before_the_sound_comes_in_the_order_that_is_asked_for():
    history = (
        Entry("agent", "Good day"),
        Entry("caller", "Hi"),
        Entry("note", "The caller is Jack."),
        Entry("agent", "ä" * 800),
    )
    talk = Talk(history=history)
    assert talk.kinds()[:2] == ["sessionStart", "promptStart"]
    assert talk.sent[0][1]["turnDetectionConfiguration"] == {"endpointingSensitivity": "MEDIUM"}
    prompt = talk.sent[1][1]
    assert prompt["audioOutputConfiguration"]["sampleRateHertz"] == 8000
    schema = prompt["toolConfiguration"]["tools"][0]["toolSpec"]["inputSchema"]["json"]
    assert json.loads(schema) == dict(LOOKUP.parameters), "a string that holds JSON"
    blocks = [fields["role"] for name, fields in talk.sent if name == "contentStart"]
    assert blocks == ["SYSTEM", "USER", "ASSISTANT", "USER", "ASSISTANT", "USER"]
    assert talk.sent[-1][1]["type"] == "AUDIO"
    pieces = [fields["content"] for name, fields in talk.sent if name == "textInput"]
    assert max(len(piece.encode()) for piece in pieces) <= 1000
    assert "".join(pieces).endswith("ä" * 800)


def test_a_whole_session_is_in_the_order_that_the_service_asks_for():
    history = (Entry("agent", "Good day"), Entry("caller", "Hi"), Entry("agent", "ä" * 800))
    talk = Talk(history=history)
    talk.take(talk.session.hear(AudioFrame(SOUND * 6, 8000, 0)))
    talk.perform(Inform("The caller pressed 5."))
    block = talk.begin("TOOL", "TOOL")
    talk.says("toolUse", contentId=block, toolName="lookup", toolUseId="t1", content="{}")
    talk.perform(AnswerTool(1, "t1", "lookup", {}, True, 11))
    talk.sent += [event(message) for message in talk.session.closing()]
    order = InputOrder(asked={"t1"})
    assert [wrong for name, fields in talk.sent if (wrong := order.check({name: fields}))] == []
    assert order.stage == "over"


def test_the_first_generation_is_not_sent_what_it_refuses():
    talk = Talk(NovaSettings(model="amazon.nova-sonic-v1:0"))
    assert "turnDetectionConfiguration" not in talk.sent[0][1]
    before = len(talk.sent)
    talk.perform(Inform("The caller pressed 5."))
    assert len(talk.sent) == before


def test_a_turn_is_heard_answered_and_written_down_once():
    talk = Talk()
    spoken = bytes(range(256)) * 30
    for number in range(24):
        pcm = spoken[320 * number : 320 * (number + 1)]
        talk.take(talk.session.hear(AudioFrame(pcm, 8000, 160 * number)))
    pieces = [fields["content"] for name, fields in talk.sent if name == "audioInput"]
    assert b"".join(map(base64.b64decode, pieces)) == spoken
    assert len(pieces) == 8, "three frames of 20 ms in each"
    talk.answer("Good day.")
    talk.says("usageEvent", details={}, totalTokens=9, totalInputTokens=5, totalOutputTokens=4)
    talk.says("completionEnd", stopReason="END_TURN")
    assert talk.of(BackendReady)
    assert talk.of(CallerWords) == [CallerWords(1, "hello", final=True)]
    assert talk.of(ReplyText) == [ReplyText(1, 10, "Good day.")]
    assert talk.of(AgentAudio) == [AgentAudio(1, 10, SOUND)]
    assert talk.of(UtteranceEnded) == [UtteranceEnded(1, 10, "Good day.")]
    assert talk.of(ReplyEnded) == [ReplyEnded(1)]
    (usage,) = talk.of(UsageReported)
    assert usage.figures["total_tokens"] == 9


def text_sign(talk: Talk, block: str) -> None:
    talk.text("ASSISTANT", "FINAL", '{ "interrupted" : true }')


def final_text_sign(talk: Talk, block: str) -> None:
    talk.says("contentEnd", contentId=block, type="AUDIO", stopReason="PARTIAL_TURN")
    talk.text("ASSISTANT", "FINAL", "Good", "INTERRUPTED")


def audio_sign(talk: Talk, block: str) -> None:
    talk.says("contentEnd", contentId=block, type="AUDIO", stopReason="INTERRUPTED")


def all_signs(talk: Talk, block: str) -> None:
    text_sign(talk, block)
    audio_sign(talk, block)
    talk.text("ASSISTANT", "FINAL", "Good", "INTERRUPTED")


@pytest.mark.parametrize("sign", [text_sign, final_text_sign, audio_sign, all_signs])
def test_an_interruption_is_told_once_in_each_of_its_shapes(sign: Callable[[Talk, str], None]):
    talk = Talk()
    talk.text("ASSISTANT", "SPECULATIVE", "Good day.")
    block = talk.audio()
    sign(talk, block)
    assert talk.of(BackendTurn) == [BackendTurn("ended"), BackendTurn("interrupted")]
    assert not talk.of(ReplyEnded)
    talk.audio(block=block)  # late sound of the void block
    assert len(talk.of(AgentAudio)) == 1
    talk.answer("Yes?")
    assert [one.reply for one in talk.of(AgentAudio)] == [1, 2]


def test_a_claim_of_ours_drops_what_follows_until_the_model_notices():
    talk = Talk()
    talk.text("ASSISTANT", "SPECULATIVE", "Good day.")
    block = talk.audio()
    talk.perform(CancelReply(1))
    talk.audio("PARTIAL_TURN", block)
    talk.text("ASSISTANT", "SPECULATIVE", "How are you?")
    talk.audio("END_TURN")
    talk.says("completionEnd")
    assert len(talk.of(AgentAudio)) == 1
    assert talk.of(BackendTurn) == [BackendTurn("ended")]
    talk.answer("Yes?")
    assert [one.reply for one in talk.of(AgentAudio)] == [1, 2]


def test_a_tool_runs_while_the_model_may_go_on_and_stale_results_are_told():
    talk = Talk()
    talk.text("USER", "FINAL", "Is it there?")
    block = talk.begin("TOOL", "TOOL")
    talk.says("toolUse", contentId=block, toolName="lookup", toolUseId="t1", content='{"q": 1}')
    talk.says("completionEnd")
    assert talk.of(ToolAsked) == [ToolAsked(1, "t1", "lookup", {"q": 1})]
    assert not talk.of(ReplyEnded), "the answer goes on once the tool is back"
    talk.perform(AnswerTool(1, "t1", "lookup", {"there": True}, True, 11))
    result = [fields for name, fields in talk.sent if name == "toolResult"]
    assert json.loads(result[0]["content"]) == {"there": True}
    talk.audio("END_TURN")
    talk.says("completionEnd")
    assert [one.utterance for one in talk.of(AgentAudio)] == [11]
    assert talk.of(ReplyEnded) == [ReplyEnded(1)]
    talk.perform(Inform("The tool book finished after the caller had gone on."))
    started = [fields for name, fields in talk.sent if name == "contentStart"][-1]
    assert (started["role"], started["interactive"]) == ("USER", True)


def test_other_rates_are_converted():
    talk = Talk(rate=48000)
    for number in range(50):
        talk.take(talk.session.hear(AudioFrame(bytes(1920), 48000, number * 960)))
    heard = [fields["content"] for name, fields in talk.sent if name == "audioInput"]
    samples = sum(len(base64.b64decode(one)) for one in heard) // 2
    assert samples / 24000 == pytest.approx(1.0, abs=0.15)


OPENED: list[Loopback] = []


class Loopback:
    """A channel to a service of a few lines, in place of Amazon's stream."""

    def __init__(self, on_message: Callable[[bytes], None], on_closed: Callable[[], None]) -> None:
        self.closed = asyncio.Event()
        self.answered = asyncio.Event()
        self.answered.set()
        self.reason = ""
        self.sent: list[str] = []
        self.gone = False
        OPENED.append(self)

    async def open(self, url: str, headers: Any, seconds: float) -> None: ...

    async def serve(self) -> None:
        await self.closed.wait()

    def send(self, text: str) -> None:
        self.sent.append(event(text)[0])

    def close(self) -> None:
        self.gone = True
        self.closed.set()


async def test_the_call_is_handed_over_before_a_connection_is_eight_minutes_old():
    settings = NovaSettings()
    assert settings.session_seconds + settings.late_seconds + 5 < 480
    OPENED.clear()

    def make(start: BackendStart) -> NovaSession:
        return NovaSession(start, settings, 8000, Conversion("pcmu", 8000, 8000, passes=False))

    reach = Reach("nova", "", {}, 5.0, settings.session_seconds, settings.late_seconds)
    backend = SessionBackend(nova_traits(settings), reach, make, Loopback)
    told: list[BackendEvent] = []
    history = (Entry("caller", "I am Jack"),)
    start = BackendStart(CallInfo("c1", "twilio", "test"), "Be kind.", recall=lambda: history)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(backend.run(start, told.append))
        await asyncio.sleep(400)
        backend.hear(AudioFrame(bytes(320), 8000, 0))
        task.cancel()
    told = told
    first, second = OPENED
    assert first.sent[-3:] == ["contentEnd", "promptEnd", "sessionEnd"]
    assert first.gone
    assert second.sent.count("textInput") == 2, "the instructions and what was said"
    assert told == [BackendReady("nova")]


def test_without_what_it_needs_it_says_so_in_words(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "awscrt.io", None)
    told: list[BackendEvent] = []
    start = BackendStart(CallInfo("c1", "twilio", "test"), "")
    run(nova_backend(NovaSettings()).run(start, told.append))
    (lost,) = told
    assert isinstance(lost, BackendLost)
    wanted = "Python 3.12" if sys.version_info < (3, 12) else "Amazon's SDK"
    assert wanted in lost.reason


def test_parsing_is_strict_about_what_is_used_and_lenient_about_what_is_new():
    assert wire.parse(b'{"event": {"somethingNew": {"a": 1}}}') is None
    with pytest.raises(ValueError, match="Nova Sonic"):
        wire.parse(b'{"event": {"audioOutput": {"content": 1}}}')
    assert isinstance(LOOKUP, ToolSpec)


def test_what_was_said_before_a_tool_is_an_utterance_of_its_own():
    talk = Talk()
    talk.text("USER", "FINAL", "when do you open")
    talk.text("ASSISTANT", "SPECULATIVE", "Let me look.")
    block = talk.begin("AUDIO", "ASSISTANT")
    talk.says("audioOutput", contentId=block, content=base64.b64encode(SOUND).decode())
    talk.says("contentEnd", contentId=block, type="AUDIO", stopReason="PARTIAL_TURN")
    tool = talk.begin("TOOL", "TOOL")
    talk.says("toolUse", contentId=tool, toolName="lookup", toolUseId="t1", content="{}")
    assert UtteranceEnded(1, 10, "Let me look.") in talk.told
    talk.perform(AnswerTool(1, "t1", "lookup", {"r": 1}, True, 11))
    talk.text("ASSISTANT", "SPECULATIVE", "At nine.")
    block = talk.begin("AUDIO", "ASSISTANT")
    talk.says("audioOutput", contentId=block, content=base64.b64encode(SOUND).decode())
    talk.says("contentEnd", contentId=block, type="AUDIO", stopReason="END_TURN")
    assert UtteranceEnded(1, 11, "At nine.") in talk.told


def test_a_first_piece_that_is_no_base64_breaks_nothing():
    talk = Talk()
    block = talk.begin("AUDIO", "ASSISTANT")
    talk.says("audioOutput", contentId=block, content="%%%")
    talk.says("audioOutput", contentId=block, content=base64.b64encode(SOUND).decode())
    assert [one for one in talk.told if isinstance(one, AgentAudio)]
