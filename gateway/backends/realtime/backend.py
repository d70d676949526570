"""OpenAI's Realtime API, and servers that speak it, as a backend."""

from __future__ import annotations

from gateway.backends.conversion import Conversion
from gateway.backends.realtime.session import RealtimeSession
from gateway.backends.realtime.settings import RealtimeSettings
from gateway.backends.session import Reach, SessionBackend
from gateway.ports import BackendStart, BackendTraits

MODEL_RATE = 24000
"""The API's only PCM rate."""


def realtime_backend(settings: RealtimeSettings) -> SessionBackend:
    """Make one call's Realtime model."""
    traits = BackendTraits(
        owns_turns=settings.owns_turns,
        truncates=True,
        drafts=False,
        wants_transcript=True,
        hang_seconds=settings.hang_seconds,
    )
    return SessionBackend(traits, _reach(settings), lambda start: _session(start, settings))


def _session(start: BackendStart, settings: RealtimeSettings) -> RealtimeSession:
    info = start.info
    sound = Conversion(info.codec, info.rate, MODEL_RATE, passes=settings.passes)
    return RealtimeSession(start, settings, sound)


def _reach(settings: RealtimeSettings) -> Reach:
    url = settings.url
    if settings.model and "model=" not in url:
        url += ("&" if "?" in url else "?") + f"model={settings.model}"
    headers = {}
    if settings.api_key:
        azure = ".azure.com" in url
        headers = (
            {"api-key": settings.api_key}
            if azure
            else {"Authorization": f"Bearer {settings.api_key}"}
        )
    return Reach(settings.name, url, headers, settings.connect_seconds, settings.session_seconds)
