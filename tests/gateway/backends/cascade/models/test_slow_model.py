"""A slow language model (first token after 1.5 s, then 30 a second) is felt as little as can be."""

from __future__ import annotations

import asyncio

import pytest

from gateway.backends.cascade.models.openai_compatible import OpenAICompatibleModel
from gateway.backends.cascade.models.settings import OpenAIModelSettings
from gateway.backends.cascade.voices.openai_speech import OpenAISpeech, SpeechSettings
from gateway.call.settings import ConversationSettings, FixedLines
from gateway.events import AgentAudio, ReplyText
from gateway.plumbing.virtual_time import run
from tests.support.cascade_call import Caller, Parts
from tests.support.cascade_parts import LevelRecogniser, Sentences
from tests.support.chat_server import FakeChat, Say
from tests.support.sound_server import FakeSound
from tts.clauses import ClauseCutter

SLOW = Say(
    "We open at nine in the morning, and we close at five in the afternoon, every day.",
    first=1.5,
    gap=1 / 30,
)


def answered(*, draft: float | None = None, early: bool = False, filler: str = "") -> Caller:
    """Hold a call of one question; give the caller, with everything that was seen."""
    kept: list[Caller] = []

    async def story(caller: Caller) -> None:
        await caller.hears()
        await caller.says("When do you open?", draft=draft)
        await asyncio.sleep(2.2)  # beyond any filler
        await caller.hears()

    async def main() -> None:
        async with FakeChat([SLOW]).serving() as chat, FakeSound().serving() as sound:
            sentences = Sentences()
            model = OpenAICompatibleModel(OpenAIModelSettings("openai", "m", (chat.url,)))
            voice = OpenAISpeech(SpeechSettings("openai", "m", "v", sound.url))
            parts = Parts(LevelRecogniser(sentences), model, voice)
            settings = ConversationSettings(lines=FixedLines(filler=filler), filler_for_model=early)
            caller = Caller(parts, sentences, settings)
            kept.append(caller)
            await caller.run(story)
            await model.close()
            await voice.close()
            await asyncio.sleep(0.1)

    run(main())
    return kept[0]


def first_clause(caller: Caller) -> float:
    """Return the moment at which the model's first clause was whole."""
    cutter = ClauseCutter()
    for when, event in caller.happened(ReplyText):
        if any(cutter.push(event.text)):
            return when
    raise AssertionError("there was no clause")


def test_the_first_audio_follows_the_first_clause_by_at_most_100_ms():
    caller = answered()
    audio = next(when for when, event in caller.happened(AgentAudio) if event.reply)
    assert 0 < audio - first_clause(caller) <= 0.1
    (turn,) = caller.log.of("turn")
    assert turn["stages"]["first_token"] == pytest.approx(1.5, abs=0.02)
    assert sum(turn["stages"].values()) == pytest.approx(turn["response"])


def test_the_filler_is_heard_when_configured_and_is_a_figure_of_its_own():
    figures = {}
    for early in (False, True):
        caller = answered(early=early, filler="One moment, please.")
        (turn,) = caller.log.of("turn")
        figures[early] = turn["acknowledged"]
        fillers = [line for line in caller.log.of("agent_spoke") if line["kind"] == "filler"]
        assert len(fillers) == 1
        assert turn["acknowledged"] < turn["response"]
    assert figures[True] < figures[False] < 2.0
    assert "acknowledged" not in answered().log.of("turn")[0]


def test_a_draft_saves_what_it_had_a_head_start_of(capsys: pytest.CaptureFixture[str]):
    without = answered().log.of("turn")[0]
    drafted = answered(draft=0.2).log.of("turn")[0]
    saved = without["response"] - drafted["response"]
    with capsys.disabled():
        print(
            f"\nslow model: response {without['response']:.2f} s, with a draft "
            f"{drafted['response']:.2f} s, saved {saved:.2f} s by 0.30 s of head start"
        )
    assert drafted["drafted"]
    # It began 0.3 s before the turn was confirmed; the log says the same of itself.
    assert saved == pytest.approx(0.3, abs=0.03)
    assert drafted["draft_saved"] == pytest.approx(0.3, abs=0.01)
