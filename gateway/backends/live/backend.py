"""OpenAI's Live API as a backend."""

from __future__ import annotations

from gateway.backends.live.session import Session
from gateway.backends.live.settings import LiveSettings
from gateway.backends.live.wire import PCM_RATE
from gateway.backends.session import Reach, SessionBackend
from gateway.ports import BackendStart, BackendTraits
from media.resample import Resampler


def live_traits(settings: LiveSettings) -> BackendTraits:
    """Say what the model can do: truncate and cancel are done here, and in words."""
    return BackendTraits(
        owns_turns=True,
        truncates=True,
        drafts=False,
        tools=settings.delegation == "responses",
        wants_transcript=True,
        formats=("pcmu", "pcma", "l16"),
        session_seconds=settings.session_seconds,
    )


def live_backend(settings: LiveSettings) -> SessionBackend:
    """Make one call's GPT-Live model."""

    def make(start: BackendStart) -> Session:
        rate = start.info.rate
        to_model, to_line = Resampler(rate, PCM_RATE), Resampler(PCM_RATE, rate)
        return Session(start, settings, to_model, to_line)

    headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
    reach = Reach(
        settings.name, settings.url, headers, settings.connect_seconds, settings.session_seconds
    )
    return SessionBackend(live_traits(settings), reach, make)
