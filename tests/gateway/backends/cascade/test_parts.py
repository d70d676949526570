from __future__ import annotations

from pathlib import Path

import pytest

from gateway.agents.loading import load
from gateway.agents.places import AgentError
from gateway.backends.cascade.choices.second_choice import (
    ModelChoice,
    RecogniserChoice,
    VoiceChoice,
)
from gateway.backends.cascade.models.openai_compatible import OpenAICompatibleModel
from gateway.backends.cascade.parts import PartMaker
from gateway.backends.cascade.recognisers.stream import StreamingRecogniser
from gateway.backends.cascade.recognisers.turnwise import TurnwiseRecogniser
from gateway.backends.cascade.voices.openai_speech import OpenAISpeech
from gateway.backends.cascade.voices.streaming import StreamingVoice
from tests.support.cascade_parts import ClauseTones, LevelRecogniser, Sentences

KEYS = {
    "DEEPGRAM_API_KEY": "d",
    "OPENAI_API_KEY": "o",
    "ELEVENLABS_API_KEY": "e",
    "CARTESIA_API_KEY": "c",
}

OPENAI = '{ kind = "openai", model = "m", urls = ["http://127.0.0.1:1/v1"] }'

MODELS = [
    (OPENAI, OpenAICompatibleModel),
    ('{ kind = "openai", model = "m", hedge = true }', ModelChoice),
    (f'{{ kind = "openai", model = "m", first_seconds = 1.5, fallback = {OPENAI} }}', ModelChoice),
]
RECOGNISERS = [
    ('{ kind = "moonshine" }', LevelRecogniser),
    ('{ kind = "deepgram", numerals = true }', StreamingRecogniser),
    ('{ kind = "deepgram-flux", turns = "drive" }', StreamingRecogniser),
    ('{ kind = "openai", model = "m", api_key_env = "OPENAI_API_KEY" }', TurnwiseRecogniser),
    ('{ kind = "vllm-realtime", model = "m", url = "ws://127.0.0.1:1" }', TurnwiseRecogniser),
    ('{ kind = "deepgram", fallback = { kind = "moonshine" } }', RecogniserChoice),
]
VOICES = [
    ('{ kind = "hibari" }', ClauseTones),
    ('{ kind = "openai", model = "m", voice = "v" }', OpenAISpeech),
    ('{ kind = "deepgram", model = "aura-2-thalia-en" }', StreamingVoice),
    ('{ kind = "deepgram-flux", model = "flux-haley-en" }', StreamingVoice),
    ('{ kind = "elevenlabs", voice = "v", schedule = [50, 120] }', StreamingVoice),
    ('{ kind = "cartesia", voice = "v" }', StreamingVoice),
    ('{ kind = "cartesia", voice = "v", fallback = { kind = "hibari" } }', VoiceChoice),
]


def maker(folder: Path, table: str, keys: dict[str, str]) -> tuple[PartMaker, dict[str, object]]:
    """Read a file whose second table is the part in question."""
    file = folder / "agent.toml"
    second = f"[backends.second]\nvoice = {table}\nmodel = {OPENAI}\n"
    file.write_text(f"[backend]\nmodel = {OPENAI}\n\n{second}")
    agent = load(file)
    parts = PartMaker(
        agent, keys, LevelRecogniser(Sentences()), ClauseTones(), lambda *_: pytest.fail("none")
    )
    return parts, dict(agent.file.backends["second"].voice)


@pytest.mark.parametrize(("table", "kind"), MODELS)
def test_models_are_made_of_their_tables(tmp_path: Path, table: str, kind: type):
    parts, read = maker(tmp_path, table, KEYS)
    assert isinstance(parts.model(read, "backends.second.voice"), kind)


@pytest.mark.parametrize(("table", "kind"), RECOGNISERS)
def test_recognisers_are_made_of_their_tables(tmp_path: Path, table: str, kind: type):
    parts, read = maker(tmp_path, table, KEYS)
    recogniser = parts.recogniser(read, "backends.second.voice")
    assert isinstance(recogniser, kind)
    assert recogniser.drives is ("drive" in table)


@pytest.mark.parametrize(("table", "kind"), VOICES)
def test_voices_are_made_of_their_tables(tmp_path: Path, table: str, kind: type):
    parts, read = maker(tmp_path, table, KEYS)
    assert isinstance(parts.voice(read, "backends.second.voice"), kind)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('{ kind = "cartesia", voice = "v" }', "CARTESIA_API_KEY is not set in the environment"),
        ('{ kind = "aura" }', 'there is no kind "aura"; there are: cartesia, deepgram'),
        ('{ kind = "openai", voice = "v" }', "model is missing"),
        ('{ kind = "openai", model = "m", voice = "v", sped = 2.0 }', "did you mean"),
        ('{ kind = "openai", model = "m", voice = "v", api_key = "sk" }', "no such setting"),
        ('{ kind = "hibari", speed = 2.0 }', "speed: there is no such setting"),
        ('{ kind = "hibari", fallback = { kind = "nothing" } }', "fallback.kind"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, table: str, said: str):
    parts, read = maker(tmp_path, table, {})
    with pytest.raises(AgentError, match=r"agent\.toml:5") as found:
        parts.voice(read, "backends.second.voice")
    assert said in str(found.value)


def test_whisper_says_what_to_install(tmp_path: Path):
    parts, read = maker(tmp_path, '{ kind = "whisper", folder = "nowhere" }', {})
    with pytest.raises(AgentError, match=r"parley\[whisper|holds no Whisper model"):
        parts.recogniser(read, "backends.second.voice")
