"""A small server that speaks Deepgram's four streaming protocols as the real one does.

What it hears it knows from the level of the sound (see `cascade_call.speech`); its times, turns and
promises are Deepgram's: a turn's transcript is always whole, a flushed word is final, text that was
not flushed is not spoken, and what was under way when a clear came arrives after it.
Every message it sends is validated against the vendor's own published types.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
from deepgram.listen.v1.types import ListenV1Metadata, ListenV1Results
from deepgram.listen.v2.types import ListenV2Connected, ListenV2FatalError, ListenV2TurnInfo
from deepgram.speak.v1.types import (
    SpeakV1Cleared,
    SpeakV1Flushed,
    SpeakV1Metadata,
    SpeakV1Warning,
)
from deepgram.speak.v2.types import (
    SpeakV2Connected,
    SpeakV2Flushed,
    SpeakV2SpeechInterrupted,
    SpeakV2SpeechMetadata,
    SpeakV2SpeechStarted,
)
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tests.support.cascade_call import Sentences, sentence_of

WORD_SECONDS = 0.2
EAGER_AFTER, END_AFTER, FINAL_AFTER = 0.3, 0.8, 0.3
UPDATE_EVERY = 0.25
SECONDS_A_CHARACTER = 0.06


@dataclass
class Session:
    """One connection, for tests to look at."""

    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    socket: ServerConnection
    texts: list[dict[str, Any]] = field(default_factory=list)
    sound: int = 0
    "bytes of sound received"


class FakeDeepgram:
    """Serves any number of connections."""

    def __init__(self, sentences: Sentences | None = None) -> None:
        self.sentences = sentences or Sentences()
        self.sessions: list[Session] = []
        self.refuse = False
        self.silent = False
        "takes sound and says nothing"
        self.url = ""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FakeDeepgram]:
        """Serve on a free loopback port."""
        async with serve(self._session, "127.0.0.1", 0, compression=None) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            self.url = f"ws://127.0.0.1:{port}"
            yield self

    def drop(self) -> None:
        """Cut all connections without a word."""
        for session in self.sessions:
            session.socket.transport.abort()

    async def _session(self, socket: ServerConnection) -> None:
        request = socket.request
        assert request is not None
        parts = urlsplit(request.path)
        session = Session(
            parts.path, parse_qs(parts.query), dict(request.headers.raw_items()), socket
        )
        self.sessions.append(session)
        if self.refuse or not session.headers.get("Authorization", "").startswith("Token "):
            await socket.close(1011, "NET-0001")
            return
        kind = {
            "/v2/listen": _Flux,
            "/v1/listen": _Nova,
            "/v1/speak": _Aura,
            "/v2/speak": _FluxSpeech,
        }.get(session.path)
        if kind is None:
            await socket.close(1008, "no such path")
            return
        try:
            await kind(self, session).run()
        except ConnectionClosed:
            pass


class _Talk:
    """What the four protocols share."""

    def __init__(self, server: FakeDeepgram, session: Session) -> None:
        self.server = server
        self.session = session
        self.rate = int(session.query["sample_rate"][0])
        assert session.query["encoding"] == ["linear16"]

    async def run(self) -> None:
        await self.begin()
        async for message in self.session.socket:
            if isinstance(message, bytes):
                self.session.sound += len(message)
                if not self.server.silent:
                    await self.heard(message)
                continue
            said = json.loads(message)
            self.session.texts.append(said)
            if said["type"] in ("CloseStream", "Close"):
                break
            if not self.server.silent:
                await self.told(said)
        await self.end()

    async def begin(self) -> None: ...
    async def end(self) -> None: ...
    async def heard(self, sound: bytes) -> None: ...
    async def told(self, said: dict[str, Any]) -> None: ...

    async def send(self, kind: Any, **fields: Any) -> None:
        kind.model_validate(fields)
        await self.session.socket.send(json.dumps(fields))


class _Listener(_Talk):
    """Cuts the sound into frames and knows where words are."""

    def __init__(self, server: FakeDeepgram, session: Session) -> None:
        super().__init__(server, session)
        self._rest = b""
        self.now = 0.0
        "seconds of sound listened to"
        self.words: list[dict[str, Any]] = []
        "of what is not final"
        self.silence = 99.0
        self._bursts: list[tuple[int, float, int]] = []
        "sentence, when it began, words of it placed so far"
        self._due = UPDATE_EVERY

    async def heard(self, sound: bytes) -> None:
        self._rest += sound
        size = self.rate // 50 * 2
        while len(self._rest) >= size:
            frame, self._rest = self._rest[:size], self._rest[size:]
            self.now += 0.02
            sentence = sentence_of(frame)
            if sentence is None:
                if self.silence == 0.0:
                    self._complete()
                self.silence += 0.02
                await self.pause()
            else:
                await self._voice(sentence)
            self._due -= 0.02
            if self._due <= 0:
                self._due = UPDATE_EVERY
                await self.update()

    async def _voice(self, sentence: int) -> None:
        if self.silence > 0.1 or not self._bursts or self._bursts[-1][0] != sentence:
            self._bursts = [(sentence, self.now - 0.02, 0)]
        was, self.silence = self.silence, 0.0
        number, began, placed = self._bursts[-1]
        texts = self.server.sentences.texts
        spoken = (texts[number] if number < len(texts) else "").split()
        while placed < len(spoken) and self.now >= began + (placed + 1) * WORD_SECONDS:
            self._place(spoken[placed], began + placed * WORD_SECONDS, self.now)
            placed += 1
        self._bursts[-1] = (number, began, placed)
        await self.voice(was)

    def _complete(self) -> None:
        """The speaker stopped: the rest of the sentence was said in what is left of the sound."""
        number, began, placed = self._bursts[-1]
        texts = self.server.sentences.texts
        spoken = (texts[number] if number < len(texts) else "").split()
        start = began + placed * WORD_SECONDS
        left = spoken[placed:]
        step = max(0.02, (self.now - start) / max(1, len(left)))
        for at, word in enumerate(left):
            self._place(word, start + at * step, start + (at + 1) * step)
        self._bursts[-1] = (number, began, len(spoken))

    def _place(self, word: str, start: float, end: float) -> None:
        self.words.append(
            {"word": word, "confidence": 0.9, "start": round(start, 2), "end": round(end, 2)}
        )

    async def voice(self, silence: float) -> None: ...
    async def pause(self) -> None: ...
    async def update(self) -> None: ...


class _Flux(_Listener):
    def __init__(self, server: FakeDeepgram, session: Session) -> None:
        super().__init__(server, session)
        query = session.query
        self.eot = float(query.get("eot_threshold", ["0.7"])[0])
        eager = query.get("eager_eot_threshold")
        self.eager = float(eager[0]) if eager else None
        assert 0.5 <= self.eot <= 1.0
        assert self.eager is None or 0.3 <= self.eager <= min(0.9, self.eot)
        self._sequence = itertools.count(0)
        self._turn = 0
        self._start = 0.0
        self._open = self._was_eager = False

    async def begin(self) -> None:
        await self.send(
            ListenV2Connected, type="Connected", request_id="r", sequence_id=next(self._sequence)
        )

    async def told(self, said: dict[str, Any]) -> None:
        if said["type"] == "ForceEndTurn":
            if self._open:
                if self.silence == 0.0:
                    self._complete()
                await self._end("manual")
        elif said["type"] != "Configure":
            await self.send(
                ListenV2FatalError,
                type="Error",
                sequence_id=next(self._sequence),
                code="UNPARSABLE_CLIENT_MESSAGE",
                description=f"no such message: {said['type']}",
            )
            await self.session.socket.close(1008)

    async def voice(self, silence: float) -> None:
        if self._was_eager:
            self._was_eager = False
            await self._info("TurnResumed", 0.1)
        if not self._open and self.words:
            self._open = True
            await self._info("StartOfTurn", 0.1)

    async def pause(self) -> None:
        if not self._open and self.words:
            self._open = True
            await self._info("StartOfTurn", 0.1)
        if not self._open:
            return
        if self.eager and not self._was_eager and self.silence >= EAGER_AFTER:
            self._was_eager = True
            await self._info("EagerEndOfTurn", self.eager + 0.05)
        if self.silence >= END_AFTER:
            await self._end("model")

    async def update(self) -> None:
        confidence = min(0.95, self.silence) if self._open else 0.0
        await self._info("Update", confidence)

    async def _end(self, trigger: str) -> None:
        await self._info("EndOfTurn", 0.9, trigger=trigger)
        self._open = self._was_eager = False
        self._turn += 1
        self._start = self.now
        self.words = []

    async def _info(self, event: str, confidence: float, **more: Any) -> None:
        await self.send(
            ListenV2TurnInfo,
            type="TurnInfo",
            request_id="r",
            sequence_id=next(self._sequence),
            event=event,
            turn_index=self._turn,
            audio_window_start=round(self._start, 2),
            audio_window_end=round(self.now, 2),
            transcript=" ".join(word["word"] for word in self.words),
            words=self.words,
            end_of_turn_confidence=round(confidence, 2),
            **more,
        )


class _Nova(_Listener):
    def __init__(self, server: FakeDeepgram, session: Session) -> None:
        super().__init__(server, session)
        self._start = 0.0

    async def told(self, said: dict[str, Any]) -> None:
        if said["type"] == "Finalize":
            if self.silence == 0.0:
                self._complete()
            await self._results(final=True, from_finalize=True)
        else:
            assert said["type"] == "KeepAlive", said

    async def end(self) -> None:
        await self.send(
            ListenV1Metadata,
            type="Metadata",
            transaction_key="deprecated",
            request_id="r",
            sha256="0",
            created="2026-01-01T00:00:00Z",
            duration=self.now,
            channels=1,
        )

    async def pause(self) -> None:
        if self.words and self.silence >= FINAL_AFTER:
            await self._results(final=True, speech_final=True)

    async def update(self) -> None:
        if self.words or self.silence > 3:
            await self._results(final=self.silence > 3)

    async def _results(self, final: bool, **more: Any) -> None:
        text = " ".join(word["word"] for word in self.words)
        words = [{**word, "punctuated_word": word["word"]} for word in self.words]
        await self.send(
            ListenV1Results,
            type="Results",
            channel_index=[0, 1],
            start=round(self._start, 2),
            duration=round(self.now - self._start, 2),
            is_final=final,
            speech_final=more.pop("speech_final", False),
            channel={"alternatives": [{"transcript": text, "confidence": 0.9, "words": words}]},
            metadata={
                "request_id": "r",
                "model_info": {"name": "nova-3", "version": "1", "arch": "nova"},
                "model_uuid": "u",
            },
            **more,
        )
        if final:
            self.words, self._start = [], self.now


class _Speaker(_Talk):
    """Speaks what was flushed, a good deal faster than it is heard."""

    def __init__(self, server: FakeDeepgram, session: Session) -> None:
        super().__init__(server, session)
        self.text = ""
        self._group: asyncio.TaskGroup | None = None
        self._speaking: asyncio.Task[None] | None = None

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                await super().run()
            except ConnectionClosed:
                pass
            if self._speaking is not None:
                self._speaking.cancel()

    def speak(self) -> None:
        text, self.text = self.text, ""
        assert self._group is not None
        before = self._speaking
        self._speaking = self._group.create_task(self._speak(text, before))

    async def _speak(self, text: str, before: asyncio.Task[None] | None) -> None:
        try:
            if before is not None:
                await asyncio.wait({before})
            await asyncio.sleep(0.1)
            await self.began()
            samples = int(len(text.strip()) * SECONDS_A_CHARACTER * self.rate)
            piece = self.rate // 5
            for start in range(0, samples, piece):
                await self._sound(min(piece, samples - start))
                await asyncio.sleep(0.02)
            await self.flushed(samples / self.rate)
        except ConnectionClosed:
            pass

    async def _sound(self, samples: int) -> None:
        await self.session.socket.send(np.full(samples, 500, np.int16).tobytes())

    async def stop(self) -> None:
        """Stop speaking; one more piece was on its way."""
        self.text = ""
        if self._speaking is not None and not self._speaking.done():
            self._speaking.cancel()
            await self._sound(self.rate // 10)
        self._speaking = None

    async def began(self) -> None: ...
    async def flushed(self, seconds: float) -> None: ...


class _Aura(_Speaker):
    def __init__(self, server: FakeDeepgram, session: Session) -> None:
        super().__init__(server, session)
        self._sequence = itertools.count(0)
        self._flushes: list[float] = []

    async def begin(self) -> None:
        await self.send(
            SpeakV1Metadata,
            type="Metadata",
            request_id="r",
            model_name="aura-2-thalia-en",
            model_version="1",
            model_uuid="u",
        )

    async def told(self, said: dict[str, Any]) -> None:
        match said["type"]:
            case "Speak":
                assert len(said["text"]) <= 2000
                self.text += said["text"]
            case "Flush":
                now = asyncio.get_running_loop().time()
                self._flushes = [at for at in self._flushes if at > now - 60] + [now]
                if len(self._flushes) > 20:
                    await self.send(
                        SpeakV1Warning,
                        type="Warning",
                        code="EXCESSIVE_FLUSH",
                        description="more than 20 flushes in 60 seconds",
                    )
                else:
                    self.speak()
            case "Clear":
                await self.stop()
                await self.send(SpeakV1Cleared, type="Cleared", sequence_id=next(self._sequence))
            case _:
                raise AssertionError(said)

    async def flushed(self, seconds: float) -> None:
        await self.send(SpeakV1Flushed, type="Flushed", sequence_id=next(self._sequence))


class _FluxSpeech(_Speaker):
    def __init__(self, server: FakeDeepgram, session: Session) -> None:
        super().__init__(server, session)
        self._ids = itertools.count(1)
        self._speech = ""

    async def begin(self) -> None:
        await self.send(
            SpeakV2Connected,
            type="Connected",
            request_id="r",
            model_name="flux-haley-en",
            model_version="1",
            model_uuids=["u"],
        )

    async def told(self, said: dict[str, Any]) -> None:
        match said["type"]:
            case "Speak":
                self.text += said["text"]
            case "Flush":
                self.speak()
            case "Interrupt":
                assert "playback_offset" not in said, "what was played is not known to the voice"
                await self.stop()
                await self.send(
                    SpeakV2SpeechInterrupted,
                    type="SpeechInterrupted",
                    audio_played_ms=0,
                    metadata={"speech_id": self._speech or "s0", **_counted(0.0)},
                )
            case _:
                raise AssertionError(said)

    async def began(self) -> None:
        self._speech = f"s{next(self._ids)}"
        await self.send(SpeakV2SpeechStarted, type="SpeechStarted", speech_id=self._speech)

    async def flushed(self, seconds: float) -> None:
        await self.send(
            SpeakV2SpeechMetadata,
            type="SpeechMetadata",
            speech_id=self._speech,
            **_counted(seconds),
        )
        await self.send(SpeakV2Flushed, type="Flushed", speech_id=self._speech)


def _counted(seconds: float) -> dict[str, Any]:
    controls = {"pronunciations_applied": 0, "breaks_applied": 0, "pronunciation_warnings": 0}
    return {
        "audio_duration_ms": round(seconds * 1000),
        "input_character_count": 1,
        "billable_character_count": 1,
        "controls_applied": controls,
    }
