"""Amazon's Nova Sonic as a backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.backends.conversion import Conversion
from gateway.backends.nova.channel import BedrockChannel
from gateway.backends.nova.session import NovaSession
from gateway.backends.nova.settings import NovaSettings
from gateway.backends.nova.wire import RATES
from gateway.backends.session import Reach, SessionBackend
from gateway.ports import BackendStart, BackendTraits

OTHER_RATE = 24000
"""What the model is given by lines whose own rate it does not know."""


def nova_traits(settings: NovaSettings) -> BackendTraits:
    """Return what the model can do; it judges interruptions itself and is told nothing of them."""
    return BackendTraits(
        owns_turns=True,
        truncates=False,
        drafts=False,
        wants_transcript=True,
        hang_seconds=settings.hang_seconds,
    )


def nova_backend(
    settings: NovaSettings, transport: Callable[[], Any] | None = None
) -> SessionBackend:
    """Make one call's Nova Sonic model; `transport` makes the SDK's, where it is another one."""

    def make(start: BackendStart) -> NovaSession:
        line = start.info.rate
        rate = line if line in RATES else OTHER_RATE
        sound = Conversion(start.info.codec, line, rate, passes=False)
        return NovaSession(start, settings, rate, sound)

    reach = Reach(
        settings.name,
        settings.endpoint,
        {},
        settings.connect_seconds,
        settings.session_seconds,
        settings.late_seconds,
    )

    def channel(
        on_message: Callable[[bytes], None], on_closed: Callable[[], None]
    ) -> BedrockChannel:
        own = None if transport is None else transport()
        return BedrockChannel(settings, on_message, on_closed, own)

    return SessionBackend(nova_traits(settings), reach, make, channel)
