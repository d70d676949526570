"""OpenAI's Live API as a backend."""

from __future__ import annotations

from gateway.backends.conversion import Conversion
from gateway.backends.live.session import LiveSession
from gateway.backends.live.settings import LiveSettings
from gateway.backends.live.wire import PCM_RATE
from gateway.backends.session import Reach, SessionBackend
from gateway.ports import BackendStart, BackendTraits


def live_traits(settings: LiveSettings) -> BackendTraits:
    """Return what the model can do: truncate and cancel are done here, and in words."""
    return BackendTraits(
        owns_turns=True,
        truncates=True,
        drafts=False,
        tools=settings.delegation == "responses",
        wants_transcript=True,
        hang_seconds=settings.hang_seconds,
    )


def live_backend(settings: LiveSettings) -> SessionBackend:
    """Make one call's GPT-Live model."""

    def make(start: BackendStart) -> LiveSession:
        info = start.info
        return LiveSession(start, settings, Conversion(info.codec, info.rate, PCM_RATE))

    headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
    reach = Reach(
        settings.name, settings.url, headers, settings.connect_seconds, settings.session_seconds
    )
    return SessionBackend(live_traits(settings), reach, make)
