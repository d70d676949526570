"""Makes a cascade's parts of the tables in an agent's file: each kind, and its second choices.

A table has a `kind`, that kind's own settings, and, where there is a second choice, `fallback`
(one more such table) and when it is asked. What a kind needs is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TypeVar

from gateway.backends.cascade.choices.race import ChoiceSettings, Table, split
from gateway.backends.cascade.choices.second_choice import (
    ModelChoice,
    RecogniserChoice,
    VoiceChoice,
)
from gateway.backends.cascade.ports import LanguageModel, Recogniser, Voice

T = TypeVar("T")
MODELS = ("scripted", "openai")
RECOGNISERS = (
    "moonshine",
    "deepgram",
    "deepgram-flux",
    "openai",
    "vllm-realtime",
    "whisper",
)
VOICES = ("hibari", "openai", "deepgram", "deepgram-flux", "elevenlabs", "cartesia")


@dataclass(frozen=True, slots=True)
class EmbeddedSettings:
    """A part that runs in the gateway itself, and is set by the gateway's own settings."""

    kind: str


class AgentSettings(Protocol):
    """Where the tables come from: an agent's file, which knows the line of each mistake."""

    def settings(self, kind: type[T], table: Table, path: str) -> T:
        """Read a table strictly; raises with the place of a mistake."""

    def refuse(self, path: str, said: str) -> NoReturn:
        """Raise with the place of a mistake that shows only now."""


def language_model(
    agent: AgentSettings, environment: Mapping[str, str], table: Table, path: str
) -> LanguageModel:
    """Make a language model alone, where nothing is heard and nothing sounds."""

    def scripted(_table: Table, place: str) -> NoReturn:
        agent.refuse(place, "a script answers by itself, not beside another model")

    nobody: Any = None
    return PartMaker(agent, environment, nobody, nobody, scripted).model(table, path)


@dataclass(frozen=True, slots=True)
class PartMaker:
    """Makes the parts of one agent."""

    agent: AgentSettings
    environment: Mapping[str, str]
    moonshine: Recogniser
    hibari: Voice
    scripted: Callable[[Table, str], LanguageModel]

    def model(self, table: Table, path: str) -> LanguageModel:
        """Make a language model, with its second choice."""
        own, choice, after = split(table)
        first = self._model(own, path)
        settings = self.agent.settings(ChoiceSettings, choice, path)
        if after is not None:
            return ModelChoice([first, self.model(after, f"{path}.fallback")], settings)
        if settings.hedge:
            return ModelChoice([first, first.elsewhere()], settings)
        return first

    def recogniser(self, table: Table, path: str) -> Recogniser:
        """Make a recogniser, with its second choice."""
        own, choice, after = split(table)
        first = self._recogniser(own, path)
        settings = self.agent.settings(ChoiceSettings, choice, path)
        if after is not None:
            return RecogniserChoice([first, self.recogniser(after, f"{path}.fallback")], settings)
        return RecogniserChoice([first, first], settings) if settings.hedge else first

    def voice(self, table: Table, path: str) -> Voice:
        """Make a voice, with its second choice."""
        own, choice, after = split(table)
        first = self._voice(own, path)
        settings = self.agent.settings(ChoiceSettings, choice, path)
        if after is not None:
            return VoiceChoice([first, self.voice(after, f"{path}.fallback")], settings)
        return VoiceChoice([first, first], settings) if settings.hedge else first

    # --- the kinds ---------------------------------------------------------------------------

    def _model(self, table: Table, path: str) -> LanguageModel:
        match table.get("kind"):
            case "scripted":
                return self.scripted(table, path)
            case "openai":
                from gateway.backends.cascade.models.openai_compatible import OpenAICompatibleModel
                from gateway.backends.cascade.models.settings import OpenAIModelSettings

                chosen = self.agent.settings(OpenAIModelSettings, table, path)
                return OpenAICompatibleModel(chosen, self._key(chosen.api_key_env, path))
            case other:
                return self._unknown(path, other, MODELS)

    def _recogniser(self, table: Table, path: str) -> Recogniser:
        match table.get("kind"):
            case "moonshine":
                self.agent.settings(EmbeddedSettings, table, path)
                return self.moonshine
            case "deepgram" | "deepgram-flux" as kind:
                return self._deepgram(kind, table, path)
            case "openai" | "vllm-realtime" | "whisper" as kind:
                return self._turnwise(kind, table, path)
            case other:
                return self._unknown(path, other, RECOGNISERS)

    def _deepgram(self, kind: str, table: Table, path: str) -> Recogniser:
        from gateway.backends.cascade.recognisers.deepgram_flux import (
            DeepgramFlux,
            DeepgramFluxSettings,
        )
        from gateway.backends.cascade.recognisers.deepgram_nova import (
            DeepgramNova,
            DeepgramNovaSettings,
        )
        from gateway.backends.cascade.recognisers.stream import StreamingRecogniser

        if kind == "deepgram":
            nova = self.agent.settings(DeepgramNovaSettings, table, path)
            return StreamingRecogniser(DeepgramNova(nova, self._key(nova.api_key_env, path)))
        flux = self.agent.settings(DeepgramFluxSettings, table, path)
        return StreamingRecogniser(
            DeepgramFlux(flux, self._key(flux.api_key_env, path)),
            advises=flux.turns != "ignore",
            drives=flux.turns == "drive",
        )

    def _turnwise(self, kind: str, table: Table, path: str) -> Recogniser:
        from gateway.backends.cascade.recognisers.turnwise import TurnwiseRecogniser

        if kind == "openai":
            from gateway.backends.cascade.recognisers.transcriptions import (
                Transcriptions,
                TranscriptionSettings,
            )

            chosen = self.agent.settings(TranscriptionSettings, table, path)
            key = self._key(chosen.api_key_env, path)
            writer = Transcriptions(chosen, key)
            return TurnwiseRecogniser(writer.write, writer.close)
        if kind == "vllm-realtime":
            from gateway.backends.cascade.recognisers.vllm_realtime import (
                VllmRealtime,
                VllmRealtimeSettings,
            )

            vllm = self.agent.settings(VllmRealtimeSettings, table, path)
            return TurnwiseRecogniser(VllmRealtime(vllm, self._key(vllm.api_key_env, path)).write)
        from gateway.backends.cascade.recognisers.whisper import Whisper, WhisperSettings

        whisper = self.agent.settings(WhisperSettings, table, path)
        try:
            return TurnwiseRecogniser(Whisper(whisper).write)
        except ValueError as wrong:
            self.agent.refuse(path, str(wrong))

    def _voice(self, table: Table, path: str) -> Voice:
        match table.get("kind"):
            case "hibari":
                self.agent.settings(EmbeddedSettings, table, path)
                return self.hibari
            case "openai":
                from gateway.backends.cascade.voices.openai_speech import (
                    OpenAISpeech,
                    SpeechSettings,
                )

                chosen = self.agent.settings(SpeechSettings, table, path)
                return OpenAISpeech(chosen, self._key(chosen.api_key_env, path))
            case "deepgram" | "deepgram-flux" | "elevenlabs" | "cartesia" as kind:
                return self._streaming_voice(kind, table, path)
            case other:
                return self._unknown(path, other, VOICES)

    def _streaming_voice(self, kind: str, table: Table, path: str) -> Voice:
        from gateway.backends.cascade.voices import cartesia, deepgram, elevenlabs
        from gateway.backends.cascade.voices.streaming import StreamingVoice

        if kind == "elevenlabs":
            eleven = self.agent.settings(elevenlabs.ElevenLabsSettings, table, path)
            key = self._key(eleven.api_key_env, path)
            return StreamingVoice(elevenlabs.ElevenLabs(eleven, key))
        if kind == "cartesia":
            sonic = self.agent.settings(cartesia.CartesiaSettings, table, path)
            return StreamingVoice(cartesia.Cartesia(sonic, self._key(sonic.api_key_env, path)))
        aura = self.agent.settings(deepgram.DeepgramVoiceSettings, table, path)
        key = self._key(aura.api_key_env, path)
        return StreamingVoice(deepgram.Aura(aura, key, flux=kind == "deepgram-flux"))

    # --- what is wrong -----------------------------------------------------------------------

    def _key(self, variable: str, path: str) -> str:
        """Return the secret of an environment variable; none where none is named."""
        if not variable:
            return ""
        key = self.environment.get(variable, "")
        if not key:
            self.agent.refuse(f"{path}.api_key_env", f"{variable} is not set in the environment")
        return key

    def _unknown(self, path: str, kind: object, kinds: tuple[str, ...]) -> NoReturn:
        said = f'there is no kind "{kind}"; there are: {", ".join(sorted(kinds))}'
        self.agent.refuse(f"{path}.kind", said)
