"""Opens the sockets of a SIP line as its settings say."""

from __future__ import annotations

import asyncio
import ssl

import structlog

from gateway.lines.sip.settings import SipSettings
from gateway.lines.sip.transactions.hop import Hop
from gateway.lines.sip.transactions.matching import Key
from gateway.lines.sip.transport.guard import Guard
from gateway.lines.sip.transport.sockets import Bound, Broke, Receive, Transports
from gateway.plumbing.starting import cannot_use

log = structlog.get_logger("sip")


class OwnSockets:
    """Implements `Carriage` with the sockets that a line's settings name."""

    def __init__(self, settings: SipSettings, receive: Receive, broke: Broke) -> None:
        guard = Guard(settings.heard, rate=settings.rate, burst=2 * settings.rate)
        self._settings = settings
        self._transports = Transports(receive, broke, guard)

    @property
    def bound(self) -> list[Bound]:
        """What is listened on."""
        return self._transports.bound

    @property
    def dropped(self) -> int:
        """Messages that were not listened to."""
        return self._transports.guard.dropped

    async def open(self, group: asyncio.TaskGroup) -> None:
        """Bind; raises StartFailed."""
        settings = self._settings
        ready: ssl.SSLContext | None = None
        if settings.authorities or settings.certificate:
            ready = _client_tls(settings)  # what cannot be used is told now
        await self._transports.open(
            group,
            settings.host,
            udp=settings.udp,
            tcp=settings.tcp,
            tls=settings.tls,
            server_tls=_server_tls(settings),
            client_tls=lambda: ready or _client_tls(settings),
        )
        for bound in self.bound:
            log.info("sip_listening", transport=bound.transport, host=bound.host, port=bound.port)

    def send(self, data: bytes, hop: Hop, owner: Key | None) -> None:
        """Send to a hop; `owner` is told when that cannot be, not before this returns."""
        self._transports.send(data, hop, owner)

    async def close(self) -> None:
        """Let the sockets go."""
        await self._transports.close()


def _server_tls(settings: SipSettings) -> ssl.SSLContext | None:
    if settings.tls is None or settings.certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    _load_certificate(context, settings)
    return context


def _client_tls(settings: SipSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.authorities)
    except OSError as error:  # ssl.SSLError is one
        raise cannot_use("sip.authorities", settings.authorities or "", error) from None
    if not settings.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    _load_certificate(context, settings)
    return context


def _load_certificate(context: ssl.SSLContext, settings: SipSettings) -> None:
    """Show a certificate, where one is set; raises StartFailed."""
    if settings.certificate is None:
        return
    files = " and ".join(str(p) for p in (settings.certificate, settings.private_key) if p)
    try:
        context.load_cert_chain(settings.certificate, settings.private_key)
    except OSError as error:  # ssl.SSLError is one
        raise cannot_use("sip.certificate and sip.private_key", files, error) from None
