"""Nova Sonic on Amazon's Bedrock, as far as a call can tell: HTTP/2, event stream, turns by sound.

It hears turns and cut-ins in the sound itself, speaks faster than it is heard, tells what it
plans to say and what it said, and refuses what the real one refuses.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.bedrock_order import InputOrder
from tests.support.event_stream import Messages, decode, encode
from tests.support.http2_server import Http2Server, Stream

PATH = "/model/{}/invoke-with-bidirectional-stream"
KIND = "application/vnd.amazon.eventstream"

LOUD = 500
"""Mean level from which sound is speech."""

PAUSE_SECONDS = 0.4
"""Silence that ends a turn; the real one's shortest is 1.5 s."""

CUT_SECONDS = 0.2
"""Speech that counts as one."""

PIECE_SECONDS = 0.1


@dataclass
class Answer:
    """What the model says to one turn."""

    text: str
    seconds: float = 1.0
    hertz: int = 440
    tool: tuple[str, dict[str, Any]] | None = None
    "asked for before it speaks"
    delay: float = 0.01
    "seconds between pieces of sound"


@dataclass
class Refusal:
    """How a stream is refused: an HTTP status, and one of the service's errors."""

    status: int
    kind: str
    message: str


@dataclass
class FakeBedrock:
    """Serves streams; answers and the caller's words are given in order."""

    certificate: Path
    model: str
    answers: list[Answer] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    refusals: list[Refusal | None] = field(default_factory=list)
    "of the streams to come, in order; none: they are taken"
    sessions: list[Session] = field(default_factory=list)
    mute: bool = False
    "it takes streams and never answers"
    broken: bool = False
    "it breaks connections before it answers"

    def __post_init__(self) -> None:
        self.http = Http2Server(self._serve, self.certificate)

    @property
    def url(self) -> str:
        return self.http.url

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FakeBedrock]:
        async with self.http.serving():
            yield self

    async def _serve(self, stream: Stream) -> None:
        head = stream.headers
        wanted = PATH.format(self.model.replace(":", "%3A"))
        assert (head[":method"], head[":path"].rstrip("?")) == ("POST", wanted), head[":path"]
        assert head["content-type"] == KIND
        assert "/bedrock/aws4_request" in head["authorization"]
        refusal = self.refusals.pop(0) if self.refusals else None
        if refusal is not None:
            body = json.dumps({"message": refusal.message}).encode()
            said = {"content-type": "application/json", "x-amzn-errortype": refusal.kind}
            stream.respond(refusal.status, said)
            await stream.write(body, end=True)
            return
        session = Session(self, stream)
        self.sessions.append(session)
        if self.broken:
            stream.cut()
            return
        if self.mute:
            while await stream.read():
                pass
            return
        stream.respond(200, {"content-type": KIND})
        await session.run()


class Session:
    """One stream that was taken."""

    def __init__(self, server: FakeBedrock, stream: Stream) -> None:
        self.order = InputOrder()
        self.events: list[tuple[str, dict[str, Any]]] = []
        "what was sent here, but for the sound"
        self.sound = bytearray()
        self.said = bytearray()
        "sound that was sent out"
        self.wrong = ""
        self.ended = False
        "by the client, with all the goodbyes"
        self._server = server
        self._stream = stream
        self._ids = itertools.count(1)
        self._answering: asyncio.Task[None] | None = None
        self._talking_until = 0.0
        self._voiced = self._silent = 0
        self._results: asyncio.Queue[str] = asyncio.Queue()

    async def run(self) -> None:
        """Serve until the client ends its input or does what is refused."""
        messages = Messages()
        async with asyncio.TaskGroup() as group:
            while not self.wrong and (data := await self._stream.read()):
                for message in messages.feed(data):
                    assert message.headers[":chunk-signature"], "not signed"
                    if message.payload:
                        await self._message(message.payload, group)
            if self._answering is not None:
                self._answering.cancel()
        self.ended = self.order.stage == "over"
        await self._stream.write(b"", end=True)

    def cut(self) -> None:
        """Break the connection."""
        self._stream.cut()

    async def fail(self, kind: str, message: str) -> None:
        """Send one of the service's errors, after which the stream is over."""
        self.wrong = message
        head = {
            ":exception-type": kind,
            ":content-type": "application/json",
            ":message-type": "exception",
        }
        await self._stream.write(encode(head, json.dumps({"message": message}).encode()))

    # --- what comes -------------------------------------------------------------------------

    async def _message(self, payload: bytes, group: asyncio.TaskGroup) -> None:
        chunk = decode(payload)
        assert chunk.headers[":event-type"] == "chunk"
        event = json.loads(base64.b64decode(json.loads(chunk.payload)["bytes"]))["event"]
        wrong = self.order.check(event)
        if wrong:
            await self.fail("validationException", wrong)
            return
        ((name, fields),) = event.items()
        if name == "audioInput":
            await self._hear(base64.b64decode(fields["content"]), group)
            return
        self.events.append((name, fields))
        if name == "toolResult":
            self._results.put_nowait(fields["content"])

    async def _hear(self, pcm: bytes, group: asyncio.TaskGroup) -> None:
        self.sound += pcm
        samples = np.frombuffer(pcm, "<i2")
        rate = self.order.rate_in
        if len(samples) and np.abs(samples.astype(np.int32)).mean() > LOUD:
            self._voiced += len(samples)
            self._silent = 0
        else:
            self._silent += len(samples)
        if self._voiced >= CUT_SECONDS * rate and self._talking:
            await self._interrupted()
        if self._silent >= PAUSE_SECONDS * rate:
            spoken, self._voiced = self._voiced >= CUT_SECONDS * rate, 0
            if spoken:
                answer = self._server.answers.pop(0)
                self._answering = group.create_task(self._answer(answer))

    @property
    def _talking(self) -> bool:
        under_way = self._answering is not None and not self._answering.done()
        return under_way or asyncio.get_running_loop().time() < self._talking_until

    # --- what it says -------------------------------------------------------------------------

    async def send(self, name: str, **fields: Any) -> None:
        """Send one event."""
        document = json.dumps({"event": {name: fields}}).encode()
        head = {
            ":event-type": "chunk",
            ":content-type": "application/json",
            ":message-type": "event",
        }
        payload = json.dumps({"bytes": base64.b64encode(document).decode()}).encode()
        await self._stream.write(encode(head, payload))

    async def _begin(self, kind: str, role: str, stage: str = "") -> str:
        block = f"b{next(self._ids)}"
        more = {"additionalModelFields": json.dumps({"generationStage": stage})} if stage else {}
        await self.send("contentStart", contentId=block, type=kind, role=role, **more)
        return block

    async def _text(self, role: str, stage: str, text: str, stop: str) -> None:
        block = await self._begin("TEXT", role, stage)
        await self.send("textOutput", contentId=block, content=text, role=role)
        await self.send("contentEnd", contentId=block, type="TEXT", stopReason=stop)

    async def _answer(self, answer: Answer) -> None:
        await self.send("completionStart", promptName=self.order.prompt, completionId="c")
        await self._text("USER", "FINAL", self._server.heard.pop(0), "PARTIAL_TURN")
        if answer.tool is not None:
            await self._use(*answer.tool)
        await self._text("ASSISTANT", "SPECULATIVE", answer.text, "PARTIAL_TURN")
        await self._speak(answer)
        await self._text("ASSISTANT", "FINAL", answer.text, "END_TURN")
        used = {"totalInputTokens": 5, "totalOutputTokens": 4, "totalTokens": 9, "details": {}}
        await self.send("usageEvent", **used)
        await self.send("completionEnd", completionId="c", stopReason="END_TURN")

    async def _use(self, tool: str, arguments: dict[str, Any]) -> None:
        assert tool in self.order.tools
        block = await self._begin("TOOL", "TOOL")
        use = f"use{next(self._ids)}"
        self.order.asked.add(use)
        content = json.dumps(arguments)
        await self.send("toolUse", contentId=block, toolName=tool, toolUseId=use, content=content)
        await self.send("contentEnd", contentId=block, type="TOOL", stopReason="TOOL_USE")
        await self._results.get()

    async def _speak(self, answer: Answer) -> None:
        loop = asyncio.get_running_loop()
        rate = self.order.rate_out
        at = np.arange(round(answer.seconds * rate))
        sound = (8000 * np.sin(2 * np.pi * answer.hertz * at / rate)).astype("<i2").tobytes()
        block = await self._begin("AUDIO", "ASSISTANT")
        self._talking_until = loop.time()
        size = 2 * round(PIECE_SECONDS * rate)
        for start in range(0, len(sound), size):
            piece = sound[start : start + size]
            content = base64.b64encode(piece).decode()
            await self.send("audioOutput", contentId=block, content=content)
            self.said += piece
            self._talking_until += len(piece) / 2 / rate
            await asyncio.sleep(answer.delay)
        await self.send("contentEnd", contentId=block, type="AUDIO", stopReason="END_TURN")

    async def _interrupted(self) -> None:
        """Fall silent and say so, in the form that the documentation shows."""
        if self._answering is not None:
            self._answering.cancel()
        self._answering, self._talking_until = None, 0.0
        await self._text("ASSISTANT", "FINAL", '{ "interrupted" : true }', "INTERRUPTED")
        await self.send("completionEnd", completionId="c", stopReason="INTERRUPTED")
