"""Every vendor's connection is cut at a random moment, in 200 calls: none hangs.

Each call ends in a completed conversation or in a spoken apology, whatever was cut and when.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest

from gateway.backends.cascade.models.openai_compatible import OpenAICompatibleModel
from gateway.backends.cascade.models.settings import OpenAIModelSettings
from gateway.backends.cascade.recognisers.deepgram_flux import DeepgramFlux, DeepgramFluxSettings
from gateway.backends.cascade.recognisers.deepgram_nova import DeepgramNova, DeepgramNovaSettings
from gateway.backends.cascade.recognisers.stream import StreamingRecogniser
from gateway.backends.cascade.voices.deepgram import Aura, DeepgramVoiceSettings
from gateway.backends.cascade.voices.openai_speech import OpenAISpeech, SpeechSettings
from gateway.backends.cascade.voices.streaming import StreamingVoice
from gateway.call.settings import ConversationSettings
from gateway.plumbing.virtual_time import run
from gateway.ports import ToolSpec
from tests.support.cascade_call import Caller, Parts
from tests.support.cascade_parts import Sentences
from tests.support.chat_server import FakeChat, Say
from tests.support.deepgram_server import FakeDeepgram
from tests.support.sound_server import FakeSound

LOOKUP = ToolSpec("lookup", "Look up.", {"type": "object", "properties": {}})
SETTINGS = ConversationSettings(tools=(LOOKUP,), instructions="Be kind.")
LINES = SETTINGS.lines

ANSWER = Say("We open at nine in the morning, and we close at five.", first=0.3, gap=0.03)
TOOL = Say("Let me see.", [("lookup", {})], first=0.3, gap=0.03)

QUESTIONS = ("When do you open?", "And on Sunday?", "Thank you, goodbye")
LONGEST = 120.0
"""Seconds of a call after which it hangs: three questions take half a minute."""

CALLS, BATCH = 200, 25
"""All at once would be a minute of work; one batch runs every time, the others with `-m slow`."""


@dataclass
class Fate:
    """How one call went."""

    seed: int
    heard: int = 0
    "answers that were heard after a question"
    hung: bool = False
    apologised: bool = False
    ended: bool = False
    cut: str = ""
    faults: int = 0


async def hold(seed: int) -> Fate:
    """Hold one call in which a connection is cut."""
    draw = random.Random(seed)
    fate = Fate(seed)
    async with AsyncExitStack() as stack:
        chat = await stack.enter_async_context(FakeChat([ANSWER], "vllm").serving())
        sentences = Sentences()
        deepgram = await stack.enter_async_context(FakeDeepgram(sentences).serving())
        sound = await stack.enter_async_context(FakeSound(gap=0.05).serving())
        flux, streamed = draw.random() < 0.5, draw.random() < 0.5
        model = OpenAICompatibleModel(OpenAIModelSettings("openai", "m", (chat.url,)))
        speech = OpenAISpeech(SpeechSettings("openai", "m", "v", sound.url))
        aura = StreamingVoice(Aura(DeepgramVoiceSettings("deepgram", "m", deepgram.url), "k"))
        path = f"{deepgram.url}/{'v2' if flux else 'v1'}/listen"
        maker = (
            DeepgramFlux(DeepgramFluxSettings("deepgram-flux", url=path), "k")
            if flux
            else DeepgramNova(DeepgramNovaSettings("deepgram", url=path), "k")
        )
        parts = Parts(StreamingRecogniser(maker), model, aura if streamed else speech)
        caller = Caller(parts, sentences, SETTINGS, call_id=f"c{seed}")
        victims = {
            "chat": chat.http.cut_all,
            "deepgram": deepgram.drop,
            "sound": sound.http.cut_all,
        }
        cuts = [
            (draw.uniform(0.0, 25.0), draw.choice(sorted(victims)))
            for _ in range(draw.randint(1, 4))
        ]
        fate.cut = ", ".join(f"{name} at {at:.2f}" for at, name in sorted(cuts))

        async def story(caller: Caller) -> None:
            async with asyncio.TaskGroup() as group:
                for at, name in cuts:
                    group.create_task(_later(at, victims[name]))
                await _converse(caller, chat, fate, draw)

        try:
            async with asyncio.timeout(LONGEST):
                await caller.run(story)
        except TimeoutError:
            fate.hung = True
        said = [line["text"] for line in caller.log.of("agent_spoke")]
        fate.apologised = LINES.again in said or LINES.apology in said
        fate.ended = bool(caller.log.of("call_ended"))
        fate.faults = len(caller.log.of("fault"))
        await model.close()
        await speech.close()
        await aura.close()
        await asyncio.sleep(0.5)
    return fate


async def _later(seconds: float, cut: object) -> None:
    await asyncio.sleep(seconds)
    cut()  # type: ignore[operator]


async def _converse(caller: Caller, chat: FakeChat, fate: Fate, draw: random.Random) -> None:
    await caller.hears()
    for question in QUESTIONS:
        chat.answers = [TOOL, ANSWER] if draw.random() < 0.3 else [ANSWER]
        await asyncio.sleep(draw.uniform(0.1, 1.0))
        await caller.says(question, draft=draw.choice([0.2, None]))
        try:
            await caller.hears(25.0)
        except TimeoutError:
            return
        fate.heard += 1


def batch(first: int) -> list[Fate]:
    """Hold so many calls at once."""

    async def main() -> list[Fate]:
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(hold(seed)) for seed in range(first, first + BATCH)]
        return [call.result() for call in calls]

    return run(main())


@pytest.mark.parametrize(
    "first",
    [pytest.param(n, marks=pytest.mark.slow if n else ()) for n in range(0, CALLS, BATCH)],
)
def test_a_cut_connection_never_hangs_a_call(
    first: int, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
):
    caplog.set_level("CRITICAL")
    fates = batch(first)
    for fate in fates:
        assert fate.ended, fate
        assert not fate.hung, fate
        assert fate.heard == len(QUESTIONS) or fate.apologised, fate
    assert sum(fate.faults for fate in fates) > 0, "nothing that was cut was felt"
    with capsys.disabled():
        whole = sum(fate.heard == len(QUESTIONS) for fate in fates)
        print(
            f"\nchaos: {len(fates)} calls, {whole} completed, "
            f"{sum(fate.apologised for fate in fates)} heard an apology, 0 hung"
        )
    assert any(fate.heard == len(QUESTIONS) and not fate.faults for fate in fates)
