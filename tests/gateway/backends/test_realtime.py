from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway.backends.realtime.backend import realtime_backend
from gateway.backends.realtime.settings import RealtimeSettings
from gateway.events import (
    AgentAudio,
    AnswerTool,
    BackendLost,
    BackendReady,
    BackendTurn,
    CallerWords,
    CallInfo,
    CancelReply,
    Disregard,
    Entry,
    Inform,
    Listen,
    ReplyEnded,
    ReplyText,
    Respond,
    ToolAsked,
    Truncate,
    UsageReported,
    UtteranceEnded,
)
from gateway.ports import BackendEvent, BackendStart, ToolSpec
from media.frame import AudioFrame
from tests.support.realtime_server import Answer, FakeRealtime

LOOKUP = ToolSpec("lookup", "Look up.", {"type": "object", "properties": {}})


def frame(number: int, codec: str = "pcmu") -> AudioFrame:
    payload = bytes([number & 0x7F]) * 160
    return AudioFrame(bytes(320), 8000, number * 160, payload, codec)


class Bench:
    """A backend in a call of its own, and what it said."""

    def __init__(self, server: FakeRealtime, codec: str = "pcmu", **settings: object) -> None:
        self.backend = realtime_backend(
            RealtimeSettings(url=server.url, api_key="sk-secret", **settings)  # type: ignore[arg-type]
        )
        self.events: list[BackendEvent] = []
        self.history: tuple[Entry, ...] = ()
        self._changed = asyncio.Event()
        info = CallInfo("c1", "twilio", "test", rate=8000, codec=codec)
        self.start = BackendStart(
            info, "Be kind.", (LOOKUP,), next_utterance=lambda: 50, recall=lambda: self.history
        )

    async def run(self) -> None:
        await self.backend.run(self.start, self._emit)

    def _emit(self, event: BackendEvent) -> None:
        self.events.append(event)
        self._changed.set()

    def of(self, kind: type) -> list[BackendEvent]:
        return [event for event in self.events if isinstance(event, kind)]

    async def until(self, kind: type, count: int = 1) -> BackendEvent:
        async with asyncio.timeout(30):
            while len(self.of(kind)) < count:
                self._changed.clear()
                await self._changed.wait()
        return self.of(kind)[count - 1]


@asynccontextmanager
async def play(
    answers: list[Answer],
    heard: list[str] | None = None,
    codec: str = "pcmu",
    **settings: object,
) -> AsyncIterator[tuple[Bench, FakeRealtime]]:
    async with FakeRealtime(answers, heard or ["hello"]).serving() as server:
        bench = Bench(server, codec, **settings)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(bench.run())
            yield bench, server
            task.cancel()
        await asyncio.sleep(1)


async def test_two_turns_pass_g711_through_bit_exactly():
    async with play([Answer("Good day to you", 1000)]) as (bench, server):
        await bench.until(BackendReady)
        for number in range(100):
            bench.backend.hear(frame(number))
        bench.backend.perform(Listen(80 * 160))
        for number in range(100, 120):
            bench.backend.hear(frame(number))
        bench.backend.perform(Respond(1, 1, 7, 80 * 160, 115 * 160))
        await bench.until(ReplyEnded)
        bench.backend.perform(Listen(125 * 160))
        bench.backend.hear(frame(125))
        bench.backend.perform(Respond(2, 2, 8, 125 * 160, 126 * 160))
        await bench.until(ReplyEnded, 2)
        audio = [e for e in bench.of(AgentAudio) if e.utterance == 7]  # type: ignore[attr-defined]
        assert b"".join(a.payload for a in audio)[:1600] == bytes([0x30]) * 1600  # type: ignore[attr-defined]
        assert bench.of(CallerWords) == [
            CallerWords(1, "hello", final=True),
            CallerWords(2, "hello", final=True),
        ]
        text = "".join(e.text for e in bench.of(ReplyText) if e.reply == 1)  # type: ignore[attr-defined]
        assert text.split() == ["Good", "day", "to", "you"]
        ended = bench.of(UtteranceEnded)
        assert [(e.reply, e.utterance) for e in ended] == [(1, 7), (2, 8)]  # type: ignore[attr-defined]
        assert bench.of(UsageReported)
    # 0.3 s (15 frames) from before the first voiced sample to the commit; then the second turn
    expected = b"".join(frame(n).payload for n in range(65, 120)) + frame(125).payload
    assert bytes(server.seen.sound) == expected
    update = server.seen.of("session.update")[0]["session"]
    assert update["audio"]["input"]["format"] == {"type": "audio/pcmu"}
    assert update["audio"]["input"]["turn_detection"] is None
    assert update["tools"][0]["name"] == "lookup"
    assert not server.seen.errors


async def test_a_cough_is_cleared_and_never_committed():
    async with play([Answer("x")]) as (bench, server):
        await bench.until(BackendReady)
        bench.backend.hear(frame(1))
        bench.backend.perform(Listen(160))
        bench.backend.hear(frame(2))
        bench.backend.perform(Disregard())
        await asyncio.sleep(0.1)
    assert bytes(server.seen.sound) == b""
    assert server.seen.of("input_audio_buffer.clear")
    assert not server.seen.of("input_audio_buffer.commit")


async def test_what_was_left_of_a_cough_does_not_lead_the_next_turn():
    async with play([Answer("x")]) as (bench, server):
        await bench.until(BackendReady)
        bench.backend.perform(Listen(160))
        bench.backend.hear(frame(1))
        bench.backend.perform(Disregard())
        bench.backend.perform(Listen(50 * 160))
        for number in range(50, 54):
            bench.backend.hear(frame(number))
        bench.backend.perform(Respond(1, 1, 7, 50 * 160, 54 * 160))
        await bench.until(ReplyEnded)
    sound = bytes(server.seen.sound)
    assert sound == b"".join(frame(n).payload for n in range(50, 54))


async def test_a_cut_in_truncates_each_item_by_its_own_sound_and_drops_what_is_late():
    async with play([Answer("one two three four five", 5000), Answer("ok", 200)]) as (
        bench,
        server,
    ):
        await bench.until(BackendReady)
        bench.backend.hear(frame(1))
        bench.backend.perform(Respond(1, 1, 7, 0, 160))
        await bench.until(AgentAudio, 3)
        bench.backend.perform(CancelReply(1))
        bench.backend.perform(Truncate(7, 99.0, "one"))
        bench.backend.perform(Respond(2, 2, 8, 0, 160, text="go on"))
        await bench.until(ReplyEnded, 2)
    assert not server.seen.errors, "a truncation is never longer than the sound"
    (truncate,) = server.seen.of("conversation.item.truncate")
    assert truncate["audio_end_ms"] == 600
    kinds = [event["type"] for event in server.seen.events]
    assert kinds.count("response.create") == 2


async def test_a_tool_is_asked_for_answered_and_spoken_about():
    async with play([Answer(tool=("lookup", {"q": 1})), Answer("two", 400)]) as (bench, server):
        await bench.until(BackendReady)
        bench.backend.hear(frame(1))
        bench.backend.perform(Respond(1, 1, 7, 0, 160))
        asked = await bench.until(ToolAsked)
        assert isinstance(asked, ToolAsked)
        assert (asked.name, dict(asked.arguments)) == ("lookup", {"q": 1})
        await asyncio.sleep(0.1)
        assert not bench.of(ReplyEnded), "the reply goes on after the tool"
        bench.backend.perform(AnswerTool(1, asked.ask, "lookup", {"a": 2}, True, 9))
        await bench.until(ReplyEnded)
        ended = bench.of(UtteranceEnded)
        assert [(e.reply, e.utterance) for e in ended] == [(1, 9)]  # type: ignore[attr-defined]
    items = [event["item"]["type"] for event in server.seen.of("conversation.item.create")]
    assert items == ["function_call_output"]


async def test_a_response_that_fails_is_a_loss_of_that_reply_only():
    async with play([Answer(fails="server_error")]) as (bench, _server):
        await bench.until(BackendReady)
        bench.backend.hear(frame(1))
        bench.backend.perform(Respond(1, 1, 7, 0, 160))
        lost = await bench.until(BackendLost)
        assert isinstance(lost, BackendLost)
        assert (lost.reply, lost.fatal) == (1, False)


async def test_a_cut_connection_is_a_fatal_loss_that_names_no_secret():
    async with play([Answer("x")]) as (bench, server):
        await bench.until(BackendReady)
        await server.drop()
        lost = await bench.until(BackendLost)
        assert isinstance(lost, BackendLost)
        assert lost.fatal
        assert "sk-secret" not in lost.reason


async def test_a_refused_connection_is_a_fatal_loss_that_names_no_secret():
    backend = realtime_backend(RealtimeSettings(url="ws://127.0.0.1:1/x", api_key="sk-secret"))
    events: list[BackendEvent] = []
    info = CallInfo("c1", "twilio", "test")
    await backend.run(BackendStart(info, ""), events.append)
    (lost,) = events
    assert isinstance(lost, BackendLost)
    assert lost.fatal
    assert "sk-secret" not in lost.reason


async def test_a_session_is_renewed_in_a_quiet_moment_and_carries_the_conversation():
    async with play([Answer("still here", 400)], session_seconds=60.0) as (bench, server):
        await bench.until(BackendReady)
        bench.history = (Entry("caller", "I am Jack"), Entry("agent", "Hello Jack"))
        await asyncio.sleep(61)
        assert server.seen.connections == 2
        bench.backend.hear(frame(1))
        bench.backend.perform(Respond(1, 1, 7, 0, 160))
        await bench.until(ReplyEnded)
        assert not bench.of(BackendLost)
    items = [event["item"]["role"] for event in server.seen.of("conversation.item.create")]
    assert items == ["user", "assistant"]


# A line without G.711, and a server without it.
@pytest.mark.parametrize(("codec", "sound"), [("l16", "line"), ("pcmu", "pcm")])
async def test_what_is_not_passed_through_travels_as_24_khz_pcm(codec: str, sound: str):
    async with play([Answer("one", 1000)], codec=codec, sound=sound) as (bench, server):
        await bench.until(BackendReady)
        bench.backend.perform(Listen(0))
        for number in range(50):
            bench.backend.hear(frame(number, codec if codec == "pcmu" else ""))
        bench.backend.perform(Respond(1, 1, 7, 0, 160))
        await bench.until(ReplyEnded)
        heard = b"".join(e.pcm for e in bench.of(AgentAudio))  # type: ignore[attr-defined]
        assert len(heard) / 2 / 8000 == pytest.approx(1.0, abs=0.05)
    (update,) = server.seen.of("session.update")
    audio = update["session"]["audio"]
    assert audio["input"]["format"] == {"type": "audio/pcm", "rate": 24000}
    assert audio["output"]["format"] == {"type": "audio/pcm", "rate": 24000}
    assert len(server.seen.sound) / 2 / 24000 == pytest.approx(1.0, abs=0.05)


async def test_a_note_and_typed_words_become_items():
    async with play([Answer("hi", 200)]) as (bench, server):
        await bench.until(BackendReady)
        bench.backend.perform(Inform("The caller pressed 5."))
        bench.backend.perform(Respond(1, 1, 7, 0, 0, text="hello"))
        await bench.until(ReplyEnded)
    roles = [event["item"]["role"] for event in server.seen.of("conversation.item.create")]
    assert roles == ["system", "user"]


async def test_a_model_that_owns_turns_hears_everything_and_begins_its_answers_itself():
    async with play([Answer("x")], turns="server_vad") as (bench, server):
        await bench.until(BackendReady)
        bench.backend.hear(frame(1))
        session = server.sessions[0]
        await session.send("input_audio_buffer.speech_started", audio_start_ms=0, item_id="i1")
        await session.send("input_audio_buffer.speech_stopped", audio_end_ms=9, item_id="i1")
        await session.send("input_audio_buffer.committed", item_id="i1")
        await bench.until(BackendTurn, 4)
        assert [e.kind for e in bench.of(BackendTurn)] == [  # type: ignore[attr-defined]
            "speech_started",
            "interrupted",
            "speech_stopped",
            "ended",
        ]
        bench.backend.perform(Respond(1, 1, 7, 0, 0))
        async with asyncio.TaskGroup() as group:
            group.create_task(session._respond(Answer("hi there", 400), "r1", None))
        await bench.until(ReplyEnded)
        assert bench.of(UtteranceEnded) == [UtteranceEnded(1, 7, "hi there ")]
    assert not server.seen.of("response.create")
    assert not server.seen.of("input_audio_buffer.commit")
    assert bytes(server.seen.sound) == frame(1).payload
