"""Google's Live API as a backend."""

from __future__ import annotations

from gateway.backends.gemini.session import GeminiSession, Handle
from gateway.backends.gemini.settings import GeminiSettings
from gateway.backends.gemini.wire import INPUT_RATE, OUTPUT_RATE
from gateway.backends.session import Reach, SessionBackend
from gateway.ports import BackendStart, BackendTraits
from media.resample import Resampler


def gemini_backend(settings: GeminiSettings) -> SessionBackend:
    """Make one call's Gemini Live model."""
    traits = BackendTraits(
        owns_turns=settings.owns_turns,
        truncates=True,
        drafts=False,
        wants_transcript=True,
        hang_seconds=settings.hang_seconds,
    )
    headers = {}
    if settings.bearer:
        headers["Authorization"] = f"Bearer {settings.bearer}"
    elif settings.api_key:
        headers["x-goog-api-key"] = settings.api_key
    reach = Reach(
        settings.name, settings.url, headers, settings.connect_seconds, settings.session_seconds
    )
    handle = Handle()

    def make(start: BackendStart) -> GeminiSession:
        rate = start.info.rate
        to_model, to_line = Resampler(rate, INPUT_RATE), Resampler(OUTPUT_RATE, rate)
        return GeminiSession(start, settings, handle, to_model, to_line)

    return SessionBackend(traits, reach, make)
