from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from gateway.backends.cascade.recognisers.turnwise import Question
from gateway.backends.cascade.recognisers.vllm_realtime import VllmRealtime, VllmRealtimeSettings
from gateway.plumbing.virtual_time import run
from tests.support.cascade_parts import RATE, Sentences, sentence_of, speech


class FakeVllm:
    """vLLM's protocol: refuses what it refuses, starts at the first commit, ends at the last."""

    def __init__(self) -> None:
        self.sentences = Sentences()
        self.silent = False
        self.cut = False
        self.models: list[str] = []
        self.sound = b""

    async def session(self, socket: ServerConnection) -> None:
        async def send(**event: Any) -> None:
            await socket.send(json.dumps(event))

        await send(type="session.created", id="s", created=1)
        started = False
        try:
            async for message in socket:
                event = json.loads(message)
                match event["type"]:
                    case "session.update":
                        self.models.append(event["model"])
                    case "input_audio_buffer.commit" if not event["final"]:
                        if not self.models:
                            await send(type="error", error="no model", code="model_not_validated")
                        started = True
                    case "input_audio_buffer.append":
                        assert started
                        self.sound += base64.b64decode(event["audio"])
                    case "input_audio_buffer.commit":
                        await self._transcript(send, socket)
                    case _:
                        await send(type="error", error="what?", code="unknown_event")
        except ConnectionClosed:
            pass

    async def _transcript(self, send: Any, socket: ServerConnection) -> None:
        if self.silent:
            return
        middle = len(self.sound) // 4 * 2
        assert sentence_of(self.sound[middle - 320 : middle + 320]) is not None
        words = self.sentences.texts[0].split()
        for word in words:
            await send(type="transcription.delta", delta=f"{word} ")
        if self.cut:
            socket.transport.abort()
            return
        usage = {"type": "duration", "seconds": 1}
        await send(type="transcription.done", text=" ".join(words), usage=usage)


def written(server: FakeVllm, model: str = "voxtral") -> tuple[str | OSError, list[str]]:
    partials: list[str] = []

    async def main() -> str | OSError:
        async with serve(server.session, "127.0.0.1", 0, compression=None) as listening:
            port = next(iter(listening.sockets)).getsockname()[1]
            url = f"ws://127.0.0.1:{port}/v1/realtime"
            remote = VllmRealtime(VllmRealtimeSettings("vllm-realtime", model, url))
            sentence = server.sentences.add("We open at nine")
            question = Question(speech(sentence, 2 * RATE), RATE, (), partials.append)
            try:
                return await remote.write(question)
            except OSError as broken:
                return broken
            finally:
                await asyncio.sleep(1)

    return run(main()), partials


def test_a_turn_is_written_down_from_16_khz_sound():
    server = FakeVllm()
    text, partials = written(server)
    assert text == "We open at nine"
    assert partials[-1] == "We open at nine "
    assert server.models == ["voxtral"]
    assert len(server.sound) == pytest.approx(2 * 2 * 16000, rel=0.01)


def test_silence_of_the_server_is_given_up():
    server = FakeVllm()
    server.silent = True
    assert isinstance(written(server)[0], TimeoutError)


def test_a_cut_connection_is_an_error_of_the_world():
    server = FakeVllm()
    server.cut = True
    text, _ = written(server)
    assert isinstance(text, OSError)
    assert "lost" in str(text)
