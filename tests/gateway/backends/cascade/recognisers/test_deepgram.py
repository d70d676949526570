from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import pytest
from deepgram import AsyncDeepgramClient
from deepgram.environment import DeepgramClientEnvironment

from gateway.backends.cascade.cascade import Cascade
from gateway.backends.cascade.ports import ModelEvent, ModelRequest, TextDelta, Transcript
from gateway.backends.cascade.recognisers.deepgram_flux import DeepgramFlux, DeepgramFluxSettings
from gateway.backends.cascade.recognisers.deepgram_nova import DeepgramNova, DeepgramNovaSettings
from gateway.backends.cascade.recognisers.stream import StreamedSound, StreamingRecogniser
from gateway.events import CallInfo
from gateway.ports import BackendStart
from media.frame import AudioFrame
from tests.support.cascade_call import Caller, Parts
from tests.support.cascade_parts import FRAME, RATE, ClauseTones, Sentences, speech
from tests.support.deepgram_server import FakeDeepgram

HINTS = ("Harbor Motors", "brake pads")


class Bench:
    """A caller's stream at a recogniser, with a mouth."""

    def __init__(self, server: FakeDeepgram, stream: StreamedSound, heard: list[Transcript]):
        self.server = server
        self.stream = stream
        self.heard = heard
        self.position = 0

    async def plays(self, seconds: float, text: str = "") -> tuple[int, int]:
        """Let the caller speak, or be silent; give where that was."""
        begin = self.position
        sentence = self.server.sentences.add(text) if text else None
        for _ in range(round(seconds * 50)):
            pcm = bytes(2 * FRAME) if sentence is None else speech(sentence, FRAME)
            self.stream.feed(AudioFrame(pcm, RATE, self.position))
            self.position += FRAME
            await asyncio.sleep(0.02)
        return begin, self.position

    async def goes_on(self, seconds: float = 5.0) -> None:
        await self.plays(seconds)


Story = Callable[[Bench], Awaitable[None]]


@asynccontextmanager
async def play(kind: str, hints: Sequence[str] = HINTS, **settings: object) -> AsyncIterator[Bench]:
    async with FakeDeepgram(Sentences()).serving() as server:
        url = f"{server.url}/{'v2' if kind == 'flux' else 'v1'}/listen"
        maker: DeepgramFlux | DeepgramNova
        if kind == "flux":
            maker = DeepgramFlux(DeepgramFluxSettings("deepgram-flux", url=url, **settings), "k")  # type: ignore[arg-type]
        else:
            maker = DeepgramNova(DeepgramNovaSettings("deepgram", url=url, **settings), "k")  # type: ignore[arg-type]
        heard: list[Transcript] = []
        stream = StreamingRecogniser(maker, advises=True).open(RATE, hints, heard.append)
        bench = Bench(server, stream, heard)
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(stream.serve())
            yield bench
            await stream.close()
            serving.cancel()
        await asyncio.sleep(1)


BOTH = pytest.mark.parametrize("kind", ["flux", "nova"])


@BOTH
async def test_a_turns_words_are_known_soon_after_its_last_sound(kind: str):
    async with play(kind) as bench:
        await bench.plays(1.0)
        start, end = await bench.plays(1.2, "I need new brake pads")
        async with asyncio.TaskGroup() as group:
            group.create_task(bench.goes_on(2.0))
            await asyncio.sleep(0.3)
            begun = asyncio.get_running_loop().time()
            found = await bench.stream.transcribe(start, end, final=True)
            assert asyncio.get_running_loop().time() - begun < 0.3
            assert found.text == "I need new brake pads"
            again = await bench.stream.transcribe(start, end, final=True)
            assert again.text == found.text
    server = bench.server
    (session,) = server.sessions
    assert session.query["keyterm"] == list(HINTS)
    assert session.query["encoding"] == ["linear16"]
    assert session.headers["Authorization"] == "Token k"
    assert session.texts[-1] == {"type": "CloseStream"}


@BOTH
async def test_two_turns_share_no_word(kind: str):
    async with play(kind) as bench:
        await bench.plays(0.5)
        first = await bench.plays(1.0, "My name is Mary")
        await bench.plays(0.4)
        assert (await bench.stream.transcribe(*first, final=True)).text == "My name is Mary"
        await bench.plays(0.2)
        second = await bench.plays(1.0, "and it is Tuesday")
        await bench.plays(0.4)
        assert (await bench.stream.transcribe(*second, final=True)).text == "and it is Tuesday"
        joint = (first[0], second[1])
        words = (await bench.stream.transcribe(*joint, final=True)).text
        assert words == "My name is Mary and it is Tuesday"


@BOTH
async def test_a_connection_that_breaks_within_a_turn_loses_no_word(kind: str):
    async with play(kind) as bench:
        await bench.plays(1.0)
        start, _ = await bench.plays(0.7, "We open at nine and close at five")
        bench.server.drop()
        _, end = await bench.plays(1.0, "We open at nine and close at five")
        await bench.plays(0.4)
        found = await bench.stream.transcribe(start, end, final=True)
        assert found.text == "We open at nine and close at five"
    server = bench.server
    assert len(server.sessions) == 2


@BOTH
async def test_silence_is_not_sent_again_after_a_break(kind: str):
    async with play(kind) as bench:
        start, end = await bench.plays(1.0, "Hello there")
        await bench.plays(20.0)
        assert (await bench.stream.transcribe(start, end, final=True)).text == "Hello there"
        bench.server.drop()
        await bench.plays(1.0)
    server = bench.server
    assert server.sessions[1].sound < 6 * RATE * 2


@BOTH
async def test_words_that_do_not_come_are_not_waited_for_for_ever(kind: str):
    async with play(kind, answer_seconds=1.5) as bench:
        bench.server.silent = True
        start, end = await bench.plays(1.0, "Hello there")
        with pytest.raises(TimeoutError, match="did not come"):
            await bench.stream.transcribe(start, end, final=True)


@BOTH
async def test_a_server_that_refuses_is_tried_again_and_meanwhile_there_are_no_words(kind: str):
    async with play(kind, answer_seconds=1.0) as bench:
        bench.server.refuse = True
        bench.server.drop()
        start, end = await bench.plays(1.0, "Hello there")
        with pytest.raises(TimeoutError, match="recogniser"):
            await bench.stream.transcribe(start, end, final=True)
        bench.server.refuse = False
        await bench.plays(4.0)
        assert (await bench.stream.transcribe(start, end, final=True)).text == "Hello there"


async def test_flux_says_when_a_turn_is_probably_over_goes_on_and_ends():
    async with play("flux") as bench:
        await bench.plays(0.5)
        await bench.plays(1.0, "I would like")
        await bench.plays(0.5)
        await bench.plays(1.0, "a new battery")
        await bench.plays(1.0)
        judged = [
            (heard.turn.kind, heard.text, heard.final)
            for heard in bench.heard
            if heard.turn is not None and heard.turn.kind != "heard"
        ]
        assert [kind for kind, _, _ in judged] == [
            "started",
            "eager",
            "resumed",
            "eager",
            "ended",
        ]
        assert judged[-1] == ("ended", "I would like a new battery", True)
        assert judged[-2][1] == judged[-1][1]
        ended = next(h.turn for h in bench.heard if h.turn and h.turn.kind == "ended")
        assert ended.probability == 0.9
        assert abs(ended.position - 3.8 * RATE) < 0.1 * RATE


async def test_flux_ends_its_turn_with_ours_where_that_is_wanted():
    async with play("flux", force_end=True) as bench:
        await bench.plays(0.5)
        start, end = await bench.plays(1.0, "Hello there")
        await bench.plays(0.1)
        begun = asyncio.get_running_loop().time()
        assert (await bench.stream.transcribe(start, end, final=True)).text == "Hello there"
        assert asyncio.get_running_loop().time() - begun < 0.1
    server = bench.server
    assert {"type": "ForceEndTurn"} in server.sessions[0].texts


def test_an_eager_threshold_above_the_other_is_refused():
    with pytest.raises(ValueError, match="eager"):
        DeepgramFluxSettings("deepgram-flux", eot_threshold=0.6, eager_eot_threshold=0.7)


def environment(url: str) -> DeepgramClientEnvironment:
    http = url.replace("ws:", "http:")
    return DeepgramClientEnvironment(base=http, production=url, agent=url, agent_rest=http)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_the_vendors_own_client_accepts_the_fake():
    async with FakeDeepgram(Sentences()).serving() as server:
        client = AsyncDeepgramClient(api_key="k", environment=environment(server.url))
        sentence = server.sentences.add("Hello there")
        sound = speech(sentence, RATE) + bytes(2 * RATE)
        async with client.listen.v2.connect(
            model="flux-general-en", encoding="linear16", sample_rate=RATE
        ) as flux:
            await flux.send_media(sound)
            events = []
            async for message in flux:
                events.append(getattr(message, "event", "Connected"))
                if events[-1] == "EndOfTurn":
                    assert message.transcript == "Hello there"  # type: ignore[union-attr]
                    break
            assert events[0] == "Connected"
        async with client.listen.v1.connect(
            model="nova-3", encoding="linear16", sample_rate=RATE, interim_results="true"
        ) as nova:
            await nova.send_media(sound)
            async for message in nova:
                if message.is_final:  # type: ignore[union-attr]
                    alternative = message.channel.alternatives[0]  # type: ignore[union-attr]
                    assert alternative.transcript == "Hello there"
                    break


async def test_flux_may_decide_when_a_turn_is_over():
    class Model:
        async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
            yield TextDelta(f"You said: {request.history[-1].text}.")

    async with FakeDeepgram(Sentences()).serving() as server:
        settings = DeepgramFluxSettings(
            "deepgram-flux", url=f"{server.url}/v2/listen", turns="drive"
        )
        recogniser = StreamingRecogniser(DeepgramFlux(settings, "k"), advises=True, drives=True)
        parts = Parts(recogniser, Model(), ClauseTones())
        caller = Caller(
            parts,
            server.sentences,
            backends=lambda _: Cascade(recogniser, Model(), ClauseTones()),
        )

        async def story(caller: Caller) -> None:
            await caller.hears()
            caller.speak("When do you open")
            await asyncio.sleep(1.0)
            caller.speak("")
            await caller.hears()

        await caller.run(story)
        await asyncio.sleep(0.5)
        said = [line["text"] for line in caller.log.of("agent_spoke")]
        assert said[-1] == "You said: When do you open."
        assert caller.log.of("turn_ended")[0]["why"] == "backend"


async def test_flux_advises_our_own_turn_taking():
    async with FakeDeepgram(Sentences()).serving() as server:
        settings = DeepgramFluxSettings("deepgram-flux", url=f"{server.url}/v2/listen")
        recogniser = StreamingRecogniser(DeepgramFlux(settings, "k"), advises=True)
        cascade = Cascade(recogniser, ScriptlessModel(), ClauseTones())
        start = BackendStart(CallInfo("c1", "twilio", "test", rate=RATE), "")
        async with asyncio.TaskGroup() as group:
            task = group.create_task(cascade.run(start, lambda event: None))
            assert cascade.done(0) is None
            position = 0
            for frame in range(120):
                sentence = server.sentences.add("Hello there")
                loud = 20 <= frame < 70
                pcm = speech(sentence, FRAME) if loud else bytes(2 * FRAME)
                cascade.hear(AudioFrame(pcm, RATE, position))
                position += FRAME
                await asyncio.sleep(0.02)
                if frame == 65:
                    assert (cascade.done(position) or 0.0) < 0.2
                if frame == 88:
                    assert (cascade.done(position) or 0.0) > 0.5
            assert cascade.done(position + RATE) is None
            task.cancel()
        await asyncio.sleep(0.5)


class ScriptlessModel:
    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        yield TextDelta("Never asked.")
