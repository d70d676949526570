"""The speech-to-speech models that an agent can be put through to, by the names of its file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from gateway.backends.bridge.backend import BridgeBackend, BridgeSettings
from gateway.backends.gemini.backend import gemini_backend
from gateway.backends.gemini.settings import GeminiSettings
from gateway.backends.live.backend import live_backend
from gateway.backends.live.settings import LiveSettings
from gateway.backends.nova.backend import nova_backend
from gateway.backends.nova.settings import NovaSettings
from gateway.backends.realtime.backend import realtime_backend
from gateway.backends.realtime.settings import RealtimeSettings
from gateway.ports import Backend

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    S = TypeVar("S", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class SpeechModel:
    """What a kind of model is configured by, and what makes one for a call."""

    settings: type[Any]
    make: Callable[[Any], Backend]


KINDS: Mapping[str, SpeechModel] = {
    "realtime": SpeechModel(RealtimeSettings, realtime_backend),
    "live": SpeechModel(LiveSettings, live_backend),
    "gemini": SpeechModel(GeminiSettings, gemini_backend),
    "nova": SpeechModel(NovaSettings, nova_backend),
    "bridge": SpeechModel(BridgeSettings, BridgeBackend),
}


def with_key(settings: S, environment: Mapping[str, str]) -> S:
    """Fill in what comes from the environment alone: keys and tokens.

    The metadata of such a field name the variable (`env`), or the setting that does (`env_in`).
    """
    found: dict[str, Any] = {}
    for each in fields(settings):
        variable = each.metadata.get("env", "")
        if named_by := each.metadata.get("env_in"):
            variable = getattr(settings, named_by)
        if variable in environment:
            found[each.name] = environment[variable]
    return replace(settings, **found)
