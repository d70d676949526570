"""Deepgram's two streaming voices, as the fake server speaks them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
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
from websockets.exceptions import ConnectionClosed

from tests.support.deepgram_talk import Session, Talk

SECONDS_A_CHARACTER = 0.06


class _Speaker(Talk):
    """Speaks what was flushed, a good deal faster than it is heard."""

    def __init__(self, silent: Callable[[], bool], session: Session) -> None:
        super().__init__(silent, session)
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


class Aura(_Speaker):
    def __init__(self, silent: Callable[[], bool], session: Session) -> None:
        super().__init__(silent, session)
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


class FluxSpeech(_Speaker):
    def __init__(self, silent: Callable[[], bool], session: Session) -> None:
        super().__init__(silent, session)
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
