"""vLLM's own `/v1/realtime`: transcription of one input a connection, over a WebSocket.

It looks like OpenAI's Realtime API and is none: PCM at 16 kHz alone, the model's name at the top of
`session.update`, a first commit that starts the work and a last one that ends the sound. It knows
no turns and gives no times, so that each turn is one input.
"""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from gateway.backends.cascade.recognisers.turnwise import Question
from gateway.backends.socket import ModelSocket
from gateway.plumbing.wire_json import decode
from media.resample import convert

RATE = 16000

PIECE = RATE * 2
"""Bytes in one message: a second of sound, 43 KB as base64; far below every message limit."""

Positive = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, slots=True)
class VllmRealtimeSettings:
    """The settings of `recogniser = { kind = "vllm-realtime" }`."""

    kind: str
    model: str
    url: str
    "`ws://host:8000/v1/realtime`"
    api_key_env: str = ""
    connect_seconds: Positive = 2.0
    answer_seconds: Positive = 3.0


class _Event(msgspec.Struct):
    type: str
    delta: str = ""
    text: str = ""
    error: str = ""
    code: str | None = None


_DECODER = msgspec.json.Decoder(_Event)


class VllmRealtime:
    """Writes turns down, one connection each; vLLM ends a session with its transcript."""

    def __init__(self, settings: VllmRealtimeSettings, api_key: str = "") -> None:
        self._settings = settings
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}

    async def write(self, question: Question) -> str:
        """Return the words of a turn; raise OSError or TimeoutError."""
        inbox: asyncio.Queue[bytes | None] = asyncio.Queue()
        socket = ModelSocket(inbox.put_nowait, on_closed=lambda: inbox.put_nowait(None))
        await socket.open(self._settings.url, self._headers, self._settings.connect_seconds)
        try:
            async with asyncio.timeout(self._settings.answer_seconds):
                self._ask(socket, convert(question.pcm, question.rate, RATE))
                return await self._answer(socket, inbox, question)
        finally:
            socket.close()

    def _ask(self, socket: ModelSocket, pcm: bytes) -> None:
        socket.send(json.dumps({"type": "session.update", "model": self._settings.model}))
        socket.send(json.dumps({"type": "input_audio_buffer.commit", "final": False}))
        for at in range(0, len(pcm), PIECE):
            sound = base64.b64encode(pcm[at : at + PIECE]).decode()
            socket.send(json.dumps({"type": "input_audio_buffer.append", "audio": sound}))
        socket.send(json.dumps({"type": "input_audio_buffer.commit", "final": True}))

    async def _answer(
        self, socket: ModelSocket, inbox: asyncio.Queue[bytes | None], question: Question
    ) -> str:
        text = ""
        while (message := await inbox.get()) is not None:
            try:
                event = decode(_DECODER, message)
            except ValueError as wrong:
                raise OSError(f"the recogniser is not understood: {wrong}"[:200]) from None
            match event.type:
                case "transcription.delta":
                    text += event.delta
                    question.partial(text)
                case "transcription.done":
                    return event.text or text
                case "error":
                    raise OSError(f"the recogniser failed: {event.error or event.code}"[:200])
                case _:
                    pass  # session.created, and what is new some day
        raise OSError(f"the recogniser: {socket.reason}")
