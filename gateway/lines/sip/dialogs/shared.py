"""What the parts of one call have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.lines.rtp.offer import Negotiation
from gateway.lines.sip.dialogs.acks import Acks
from gateway.lines.sip.dialogs.outbox import Outbox
from gateway.lines.sip.dialogs.session_timer import SessionTimer
from gateway.lines.sip.dialogs.vocabulary import CallSettings
from gateway.lines.sip.message.message import Message, Request
from gateway.lines.sip.transactions.hop import Timers


@dataclass(slots=True)
class Shared:
    """Settings, sources of chance and the sub-machines of one call."""

    settings: CallSettings
    timers: Timers
    ids: Callable[[], str]
    "gives random hexadecimal tokens of at least 64 bits"
    media: Negotiation
    outbox: Outbox
    timer: SessionTimer
    acks: Acks

    def draw(self, below: int) -> int:
        """Return a random number in [0, below)."""
        return int(self.ids()[:8], 16) % below

    def identify(self, request: Request) -> None:
        """Put on a request what every request of ours carries."""
        request.headers.set("User-Agent", self.settings.agent)
        if request.method in ("INVITE", "UPDATE", "REFER"):
            request.headers.set("Allow", ", ".join(self.settings.allow))
            request.headers.set("Supported", ", ".join(supported(self.settings)))


def supported(settings: CallSettings) -> list[str]:
    """Return the extensions we name in Supported."""
    return [name for name in settings.supported if name != "100rel" or settings.reliable != "never"]


def capabilities(message: Message, settings: CallSettings) -> None:
    """Put on a message what can be done here (RFC 3261, section 11.2)."""
    message.headers.set("Allow", ", ".join(settings.allow))
    message.headers.set("Accept", "application/sdp, message/sipfrag, application/dtmf-relay")
    message.headers.set("Accept-Language", "en")
    message.headers.set("Supported", ", ".join(supported(settings)))
    message.headers.set("Server", settings.agent)
