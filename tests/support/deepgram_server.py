"""A small server that speaks Deepgram's four streaming protocols as the real one does.

What it hears it knows from the level of the sound (see `cascade_parts.speech`); its times, turns
and promises are Deepgram's: a turn's transcript is always whole, a flushed word is final, text that
was not flushed is not spoken, and what was under way when a clear came arrives after it.
Every message it sends is validated against the vendor's own published types.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from deepgram.listen.v1.types import ListenV1Metadata, ListenV1Results
from deepgram.listen.v2.types import ListenV2Connected, ListenV2FatalError, ListenV2TurnInfo
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tests.support.cascade_parts import Sentences, sentence_of
from tests.support.deepgram_talk import Session, Talk
from tests.support.deepgram_voices import Aura, FluxSpeech

WORD_SECONDS = 0.2
EAGER_AFTER, END_AFTER, FINAL_AFTER = 0.3, 0.8, 0.3
UPDATE_EVERY = 0.25


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
        talk = self._talk(session)
        if talk is None:
            await socket.close(1008, "no such path")
            return
        try:
            await talk.run()
        except ConnectionClosed:
            pass

    def _talk(self, session: Session) -> Talk | None:
        match session.path:
            case "/v2/listen":
                return _Flux(self, session)
            case "/v1/listen":
                return _Nova(self, session)
            case "/v1/speak":
                return Aura(lambda: self.silent, session)
            case "/v2/speak":
                return FluxSpeech(lambda: self.silent, session)
            case _:
                return None


class _Listener(Talk):
    """Cuts the sound into frames and knows where words are."""

    def __init__(self, server: FakeDeepgram, session: Session) -> None:
        super().__init__(lambda: server.silent, session)
        self.server = server
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
