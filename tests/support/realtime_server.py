"""A small server that speaks OpenAI's Realtime protocol as the real one does in what matters.

Sound comes faster than it is heard, a cancelled response still sends what was under way, a
truncation longer than the sound is an error, and only one response is alive at a time.
Every event in either direction is validated against the vendor's own published types.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from openai.types.realtime import RealtimeClientEvent, RealtimeServerEvent
from pydantic import TypeAdapter
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

CLIENT: TypeAdapter[Any] = TypeAdapter(RealtimeClientEvent)
SERVER: TypeAdapter[Any] = TypeAdapter(RealtimeServerEvent)

DELTA_MS = 200
"""Sound of one delta."""


@dataclass
class Answer:
    """What the model says to one `response.create`."""

    text: str = ""
    ms: int = 1000
    tool: tuple[str, dict[str, Any]] | None = None
    fails: str = ""
    delay: float = 0.05
    "seconds between deltas"
    hangs: Literal["", "before", "after", "middle", "end"] = ""
    "nothing more comes: not even `response.created`, after it, amid the sound, or after all of it"
    stall: float = 0.0
    "seconds without anything in the middle of the sound"
    error: str = ""
    "a server error without an id in the middle, and nothing after it"
    mute: bool = False
    "completed, without sound"
    deaf: float = 0.0
    "seconds for which a cancel is not obeyed"
    before_tool: bool = False
    "it speaks first, and asks for the tool then"


@dataclass
class Seen:
    """What the server was told, for tests to look at."""

    events: list[dict[str, Any]] = field(default_factory=list)
    sound: bytearray = field(default_factory=bytearray)
    "appended and not cleared, of all sessions"
    errors: list[str] = field(default_factory=list)
    commits: list[int] = field(default_factory=list)
    "bytes of each turn that was committed"
    connections: int = 0
    headers: list[dict[str, str]] = field(default_factory=list)

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Pick the client events of one type."""
        return [event for event in self.events if event["type"] == kind]


class FakeRealtime:
    """Serves sessions; `answers` are given in order, the last one again and again."""

    def __init__(self, answers: list[Answer], heard: list[str]) -> None:
        self.answers = answers
        self.heard = heard
        self.seen = Seen()
        self.url = ""
        self.sessions: list[_Session] = []
        self.slow = 0.0
        "seconds until a further session is configured"
        self.byte: int | None = None
        "what all of its sound is made of"

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FakeRealtime]:
        """Serve on a free loopback port."""
        async with serve(self._session, "127.0.0.1", 0, compression=None) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            self.url = f"ws://127.0.0.1:{port}/v1/realtime"
            yield self

    async def _session(self, socket: ServerConnection) -> None:
        self.seen.connections += 1
        request = socket.request
        assert request is not None
        self.seen.headers.append(dict(request.headers.raw_items()))
        session = _Session(self, socket)
        self.sessions.append(session)
        await session.run()

    async def drop(self) -> None:
        """Cut all connections without a word."""
        for session in self.sessions:
            session.socket.transport.abort()
        await asyncio.sleep(0)


class _Session:
    def __init__(self, server: FakeRealtime, socket: ServerConnection) -> None:
        self.server = server
        self.socket = socket
        self._ids = itertools.count(1)
        self._buffer = bytearray()
        self._session: dict[str, Any] = {"type": "realtime"}
        self._audio_ms: dict[str, int] = {}
        self._alive: asyncio.Task[None] | None = None
        self._alive_id = ""
        self._deaf = 0.0

    async def run(self) -> None:
        await self.send("session.created", session=self._session)
        async with asyncio.TaskGroup() as group:
            try:
                async for message in self.socket:
                    event = json.loads(message)
                    CLIENT.validate_python(event)
                    self.server.seen.events.append(event)
                    await self._handle(event, group)
            except ConnectionClosed:
                pass
            if self._alive is not None:
                self._alive.cancel()

    async def send(self, kind: str, **fields: Any) -> None:
        event = {"type": kind, "event_id": f"ev{next(self._ids)}", **fields}
        SERVER.validate_python(event)
        try:
            await self.socket.send(json.dumps(event))
        except ConnectionClosed:
            pass

    async def error(self, code: str, message: str, event: dict[str, Any]) -> None:
        self.server.seen.errors.append(message)
        await self.send(
            "error",
            error={
                "type": "invalid_request_error",
                "code": code,
                "message": message,
                "param": None,
                "event_id": event.get("event_id"),
            },
        )

    async def _handle(self, event: dict[str, Any], group: asyncio.TaskGroup) -> None:
        match event["type"]:
            case "session.update":
                self._session = event["session"]
                await asyncio.sleep(self.server.slow if len(self.server.sessions) > 1 else 0.0)
                await self.send("session.updated", session=self._session)
            case "input_audio_buffer.append":
                sound = base64.b64decode(event["audio"])
                self._buffer += sound
                self.server.seen.sound += sound
            case "input_audio_buffer.clear":
                if self._buffer:
                    del self.server.seen.sound[-len(self._buffer) :]
                self._buffer.clear()
                await self.send("input_audio_buffer.cleared")
            case "input_audio_buffer.commit":
                await self._commit(event)
            case "conversation.item.create":
                item = {"id": f"item{next(self._ids)}", **event["item"]}
                await self.send("conversation.item.added", item=item)
                await self.send("conversation.item.done", item=item)
            case "conversation.item.truncate":
                await self._truncate(event)
            case "response.create":
                if self._alive is not None and not self._alive.done():
                    await self.error(
                        "conversation_already_has_active_response", "one is active", event
                    )
                    return
                self._alive_id = f"resp{next(self._ids)}"
                metadata = event.get("response", {}).get("metadata")
                answers = self.server.answers
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
                if answer.hangs == "before":
                    return
                self._deaf = asyncio.get_running_loop().time() + answer.deaf
                self._alive = group.create_task(self._respond(answer, self._alive_id, metadata))
            case "response.cancel":
                if self._alive is None or self._alive.done():
                    await self.error("response_cancel_not_active", "nothing to cancel", event)
                    return
                wait = max(0.0, self._deaf - asyncio.get_running_loop().time())
                asyncio.get_running_loop().call_later(wait, self._alive.cancel)

    async def _commit(self, event: dict[str, Any]) -> None:
        if not self._buffer:
            await self.error("input_audio_buffer_commit_empty", "buffer is empty", event)
            return
        self.server.seen.commits.append(len(self._buffer))
        self._buffer.clear()
        item = f"item{next(self._ids)}"
        await self.send("input_audio_buffer.committed", item_id=item)
        heard = self.server.heard
        text = heard.pop(0) if len(heard) > 1 else heard[0]
        await self.send(
            "conversation.item.input_audio_transcription.completed",
            item_id=item,
            content_index=0,
            transcript=text,
            usage={"type": "duration", "seconds": 1.0},
        )

    async def _truncate(self, event: dict[str, Any]) -> None:
        has, wanted = self._audio_ms.get(event["item_id"], 0), event["audio_end_ms"]
        if wanted > has:
            text = f"Audio content of {has}ms is already shorter than {wanted}ms"
            await self.error("invalid_value", text, event)
            return
        await self.send(
            "conversation.item.truncated",
            item_id=event["item_id"],
            content_index=0,
            audio_end_ms=wanted,
        )

    async def _respond(
        self, answer: Answer, response: str, metadata: dict[str, str] | None
    ) -> None:
        base = {"id": response, "object": "realtime.response", "metadata": metadata}
        await self.send("response.created", response={**base, "status": "in_progress"})
        status, details = "completed", None
        try:
            if answer.fails:
                status = "failed"
                details = {
                    "type": "failed",
                    "error": {"code": "server_error", "type": answer.fails},
                }
            elif answer.hangs == "after":
                await asyncio.Event().wait()
            elif answer.mute:
                await asyncio.sleep(0.2)
            elif answer.tool is not None:
                if answer.before_tool:
                    await self._speak(answer, response)
                await self._call_tool(answer.tool, response)
            else:
                await self._speak(answer, response)
                if answer.hangs == "end":
                    await asyncio.Event().wait()
        except asyncio.CancelledError:
            status, details = "cancelled", {"type": "cancelled", "reason": "client_cancelled"}
        usage = {"total_tokens": 3, "input_tokens": 2, "output_tokens": 1}
        await self.send(
            "response.done",
            response={**base, "status": status, "status_details": details, "usage": usage},
        )

    async def _call_tool(self, tool: tuple[str, dict[str, Any]], response: str) -> None:
        item, call = f"item{next(self._ids)}", f"call{next(self._ids)}"
        name, arguments = tool
        body = {"id": item, "type": "function_call", "call_id": call, "name": name, "arguments": ""}
        where = {"response_id": response, "output_index": 0}
        await self.send("response.output_item.added", item=body, **where)
        await self.send(
            "response.function_call_arguments.done",
            item_id=item,
            call_id=call,
            name=name,
            arguments=json.dumps(arguments),
            **where,
        )

    async def _speak(self, answer: Answer, response: str) -> None:
        item = f"item{next(self._ids)}"
        body = {"id": item, "type": "message", "role": "assistant", "content": []}
        where = {"response_id": response, "output_index": 0}
        await self.send("response.output_item.added", item=body, **where)
        at = {**where, "item_id": item, "content_index": 0}
        words = answer.text.split()
        pieces = max(1, answer.ms // DELTA_MS)
        self._audio_ms[item] = 0
        for number in range(pieces):
            text = " ".join(
                words[number * len(words) // pieces : (number + 1) * len(words) // pieces]
            )
            if text:
                await self.send("response.output_audio_transcript.delta", delta=text + " ", **at)
            self._audio_ms[item] += DELTA_MS
            sound = base64.b64encode(self._tone(number)).decode()
            await self.send("response.output_audio.delta", delta=sound, **at)
            try:
                if number == pieces // 2:
                    await self._stumble(answer)
                await asyncio.sleep(answer.delay)
            except asyncio.CancelledError:
                # What was under way when the cancel came arrives after it.
                self._audio_ms[item] += DELTA_MS
                await self.send("response.output_audio.delta", delta=sound, **at)
                raise
        await self.send("response.output_audio.done", **at)
        await self.send("response.output_audio_transcript.done", transcript=answer.text, **at)

    async def _stumble(self, answer: Answer) -> None:
        if answer.error:
            error = {"type": "server_error", "code": None, "message": answer.error}
            await self.send("error", error={**error, "param": None, "event_id": None})
        if answer.error or answer.hangs == "middle":
            await asyncio.Event().wait()
        await asyncio.sleep(answer.stall)

    def _tone(self, number: int) -> bytes:
        if self.server.byte is not None:
            return bytes([self.server.byte]) * (8 * DELTA_MS)
        out = self._session.get("audio", {}).get("output", {}).get("format", {})
        if out.get("type") in ("audio/pcmu", "audio/pcma"):
            return bytes([(0x30 + number) & 0x7F]) * (8 * DELTA_MS)
        return (1000 + number).to_bytes(2, "little") * (24 * DELTA_MS)
