"""Every kind of part that an agent's file may name, and the class of its settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.agents.scripts import ScriptedSettings
from gateway.backends.cascade.job import CascadeSettings
from gateway.backends.cascade.models.settings import OpenAIModelSettings
from gateway.backends.cascade.parts import EmbeddedSettings
from gateway.backends.cascade.recognisers.deepgram_flux import DeepgramFluxSettings
from gateway.backends.cascade.recognisers.deepgram_nova import DeepgramNovaSettings
from gateway.backends.cascade.recognisers.transcriptions import TranscriptionSettings
from gateway.backends.cascade.recognisers.vllm_realtime import VllmRealtimeSettings
from gateway.backends.cascade.recognisers.whisper import WhisperSettings
from gateway.backends.cascade.voices.cartesia import CartesiaSettings
from gateway.backends.cascade.voices.deepgram import DeepgramVoiceSettings
from gateway.backends.cascade.voices.elevenlabs import ElevenLabsSettings
from gateway.backends.cascade.voices.openai_speech import SpeechSettings
from gateway.backends.speech_models import KINDS

PARTS: Mapping[str, Mapping[str, type[Any]]] = {
    "model": {"scripted": ScriptedSettings, "openai": OpenAIModelSettings},
    "recogniser": {
        "moonshine": EmbeddedSettings,
        "deepgram": DeepgramNovaSettings,
        "deepgram-flux": DeepgramFluxSettings,
        "openai": TranscriptionSettings,
        "vllm-realtime": VllmRealtimeSettings,
        "whisper": WhisperSettings,
    },
    "voice": {
        "hibari": EmbeddedSettings,
        "openai": SpeechSettings,
        "deepgram": DeepgramVoiceSettings,
        "deepgram-flux": DeepgramVoiceSettings,
        "elevenlabs": ElevenLabsSettings,
        "cartesia": CartesiaSettings,
    },
}
"""The parts of a cascade: by part and by `kind`."""

OPTIONS: Mapping[str, type[Any]] = {
    "cascade": CascadeSettings,
    **{name: each.settings for name, each in KINDS.items()},
}
"""What `options` of a backend holds, by the backend's `kind`."""
