"""Nova Sonic through Amazon's own SDK, against a small fake of the service on the loopback.

The SDK needs Python 3.12: `make PYTHON=python3.12 test-peers` in a folder without `.venv`.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gateway.backends.nova.backend import nova_backend
from gateway.backends.nova.settings import NovaSettings
from gateway.backends.nova.transport import duplex_transport
from gateway.events import (
    AgentAudio,
    AnswerTool,
    BackendLost,
    BackendReady,
    BackendTurn,
    CallerWords,
    Entry,
    ReplyEnded,
    ReplyText,
    Respond,
    ToolAsked,
    UtteranceEnded,
)
from gateway.ports import BackendEvent
from media.frame import AudioFrame
from tests.support.bedrock_server import Answer, FakeBedrock, Refusal
from tests.support.certificates import certificate
from tests.support.model_server import Bench

SDK = sys.version_info >= (3, 12) and find_spec("aws_sdk_bedrock_runtime") is not None

pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(
        not SDK, reason="not installed: aws-sdk-bedrock-runtime (needs Python 3.12)"
    ),
]

RATE, FRAME = 8000, 160

SOON = 6.0
"""Seconds in which a break is told, on a machine with other work; by a time-out it would be ten."""


class Talk:
    """A call with the service: a microphone that never stops, and what came of it."""

    def __init__(self, bench: Bench, server: FakeBedrock) -> None:
        self.bench = bench
        self.server = server
        self.turns = 0
        self.spoken = bytearray()
        self._speaking = 0
        self._at = 0
        bench.on_event = self._event

    def speak(self, seconds: float) -> None:
        self._speaking = round(seconds * RATE / FRAME)

    async def listen(self) -> None:
        """Give the backend a frame every 20 ms: a tone while the caller speaks."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        while True:
            at = np.arange(self._at, self._at + FRAME)
            loud = 5000 if self._speaking > 0 else 0
            self._speaking -= 1
            pcm = (loud * np.sin(2 * np.pi * 300 * at / RATE)).astype("<i2").tobytes()
            self.spoken += pcm
            self.bench.backend.hear(AudioFrame(pcm, RATE, self._at))
            self._at += FRAME
            await asyncio.sleep(begun + self._at / RATE - loop.time())

    def _event(self, event: BackendEvent) -> None:
        """Answer as a call does: each turn gets the numbers n and 10 n."""
        if event == BackendTurn("ended"):
            self.turns += 1
            self.bench.backend.perform(Respond(self.turns, self.turns, self.turns * 10, 0, 0))

    @property
    def lost(self) -> str:
        (lost,) = self.bench.of(BackendLost)
        return str(lost.reason)

    def sound(self, reply: int) -> bytes:
        return b"".join(one.pcm for one in self.bench.of(AgentAudio) if one.reply == reply)


@asynccontextmanager
async def held(server: FakeBedrock, **settings: Any) -> AsyncIterator[Talk]:
    """Hold a call with the service; nothing may be left behind."""
    async with server.serving():
        chosen = NovaSettings(**{"endpoint": server.url, **settings})
        talk = Talk(Bench(nova_backend(chosen, lambda: trusting(server.certificate))), server)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(talk.bench.run()), group.create_task(talk.listen())]
            async with asyncio.timeout(30):
                yield talk
            for task in tasks:
                task.cancel()
        async with asyncio.timeout(5):
            while server.http.open:  # noqa: ASYNC110 - a peer's end is told by nobody
                await asyncio.sleep(0.02)


def trusting(authority: Path) -> Any:
    """Make the SDK's transport for a server with a certificate of its own."""
    io: Any = importlib.import_module("awscrt.io")
    options = io.TlsContextOptions()
    _, mark, certificate = authority.read_bytes().partition(b"-----BEGIN CERTIFICATE")
    options.override_default_trust_store(mark + certificate)
    transport = duplex_transport()
    transport._tls_ctx = io.ClientTlsContext(options)  # there is no public way yet
    return transport


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeBedrock:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    return FakeBedrock(certificate(tmp_path), NovaSettings().model)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing may go wrong in a task or a thread that nobody waits for."""
    yield
    gc.collect()
    logged = [*caplog.get_records("call"), *caplog.get_records("teardown")]
    assert [one.getMessage() for one in logged if one.name == "asyncio"] == []


async def test_two_turns_with_a_tool_and_a_cut_in(server: FakeBedrock) -> None:
    server.answers = [
        Answer("We open at nine.", 0.6, 440, tool=("lookup", {"day": "Monday"})),
        Answer("We sell tyres, oil and much else.", 4.0, 660, delay=0.05),
        Answer("Goodbye.", 0.4, 880),
    ]
    server.heard = ["When do you open?", "What do you sell?", "Stop."]
    async with held(server) as talk:
        bench = talk.bench
        await bench.until(BackendReady)
        talk.speak(0.8)
        asked = await bench.until(ToolAsked)
        assert (asked.name, dict(asked.arguments)) == ("lookup", {"day": "Monday"})
        bench.backend.perform(AnswerTool(1, asked.ask, "lookup", {"opens": 9}, True, 11))
        await bench.until(ReplyEnded)
        await asyncio.sleep(0.7)
        talk.speak(0.8)
        await bench.until(AgentAudio, len(bench.of(AgentAudio)) + 3)
        talk.speak(0.8)
        await bench.until(ReplyEnded, 2)
    bench, (session,) = talk.bench, server.sessions
    assert session.wrong == ""
    assert session.ended, "the service was told goodbye"
    assert bench.of(BackendLost) == []
    kinds = [one.kind for one in bench.of(BackendTurn)]
    assert kinds == ["ended", "ended", "interrupted", "ended"]
    words = [(one.turn, one.text) for one in bench.of(CallerWords)]
    assert words == [(1, "When do you open?"), (2, "What do you sell?"), (3, "Stop.")]
    # The second answer was cut, so that it has words and sound but no end.
    texts = ["We open at nine.", "We sell tyres, oil and much else.", "Goodbye."]
    assert [one.text for one in bench.of(ReplyText)] == texts
    assert [one.text for one in bench.of(UtteranceEnded)] == [texts[0], texts[2]]
    assert [one.reply for one in bench.of(ReplyEnded)] == [1, 3]
    results = [fields["content"] for name, fields in session.events if name == "toolResult"]
    assert [json.loads(one) for one in results] == [{"opens": 9}]
    # Sound is passed through both ways, sample by sample.
    first, second, third = (talk.sound(reply) for reply in (1, 2, 3))
    assert first + second + third == bytes(session.said)
    assert len(first) == 2 * round(0.6 * RATE)
    assert 0 < len(second) < 2 * 4 * RATE
    assert bytes(session.sound) == bytes(talk.spoken[: len(session.sound)])
    assert len(session.sound) > 2 * 3 * RATE


async def test_a_call_is_handed_over_to_a_fresh_connection(server: FakeBedrock) -> None:
    server.answers = [Answer("One.", 0.4), Answer("Two.", 0.4)]
    server.heard = ["First.", "Second."]
    # The first try to hand over is refused, and the call stays where it is.
    server.refusals = [None, Refusal(429, "ThrottlingException", "Too many requests"), None]
    async with held(server, session_seconds=3.0) as talk:
        bench = talk.bench
        await bench.until(BackendReady)
        talk.speak(0.8)
        await bench.until(ReplyEnded)
        bench.history = (Entry("caller", "First."), Entry("agent", "One."))
        while len(server.sessions) < 2 or not server.sessions[0].ended:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        assert server.refusals == []
        talk.speak(0.8)
        await bench.until(ReplyEnded, 2)
    one, other = server.sessions
    assert (one.wrong, one.ended, other.wrong, other.ended) == ("", True, "", True)
    assert server.http.connections == 3
    told = [fields["content"] for name, fields in other.events if name == "textInput"]
    assert told == ["Be kind.", "First.", "One."]
    assert talk.bench.of(BackendLost) == []
    assert [each.text for each in talk.bench.of(ReplyText)] == ["One.", "Two."]


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (Refusal(403, "AccessDeniedException", "You have no access to the model"), "no access"),
        (Refusal(429, "ThrottlingException", "Too many requests"), "Too many requests"),
        (Refusal(400, "ValidationException", "The model is not known"), "not known"),
    ],
)
async def test_a_refusal_is_told_in_the_words_of_the_service(
    server: FakeBedrock, refusal: Refusal, said: str
) -> None:
    server.refusals = [refusal]
    async with held(server) as talk:
        await talk.bench.until(BackendLost)
    assert said in talk.lost
    assert refusal.kind.removesuffix("Exception") in talk.lost
    assert talk.bench.of(BackendReady) == []


async def test_an_error_in_the_middle_is_told(server: FakeBedrock) -> None:
    async with held(server) as talk:
        await talk.bench.until(BackendReady)
        await server.sessions[0].fail("modelStreamErrorException", "The model went away")
        await talk.bench.until(BackendLost)
    assert "The model went away" in talk.lost


async def test_a_connection_that_is_cut_is_a_loss(server: FakeBedrock) -> None:
    async with held(server) as talk:
        await talk.bench.until(BackendReady)
        server.sessions[0].cut()
        async with asyncio.timeout(SOON):
            await talk.bench.until(BackendLost)
    assert talk.lost


async def test_a_connection_that_breaks_before_an_answer_is_a_loss_at_once(
    server: FakeBedrock,
) -> None:
    server.broken = True
    async with held(server) as talk:
        async with asyncio.timeout(SOON):
            await talk.bench.until(BackendLost)
    assert talk.bench.of(BackendReady) == []


async def test_a_service_that_never_answers_is_a_loss(server: FakeBedrock) -> None:
    server.mute = True
    async with held(server, connect_seconds=3.0, answer_seconds=1.0) as talk:
        await talk.bench.until(BackendLost)
    assert talk.lost == "TimeoutError: Bedrock did not answer in time"


async def test_nobody_there_is_a_loss(server: FakeBedrock) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        endpoint = f"https://localhost:{nobody.getsockname()[1]}"
        async with held(server, endpoint=endpoint) as talk:
            await talk.bench.until(BackendLost)
    assert "REFUSED" in talk.lost.upper()


async def test_missing_credentials_are_told_at_once(
    server: FakeBedrock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    async with held(server) as talk:
        await talk.bench.until(BackendLost)
    assert "credential" in talk.lost
    assert server.http.connections == 0


async def test_calls_leave_no_thread_behind(server: FakeBedrock) -> None:
    async with held(server) as talk:
        await talk.bench.until(BackendReady)
    before = len(os.listdir("/proc/self/task"))
    for _ in range(3):
        async with held(server) as talk:
            await talk.bench.until(BackendReady)
    gc.collect()
    assert len(os.listdir("/proc/self/task")) <= before
