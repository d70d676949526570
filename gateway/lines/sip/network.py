"""The shell around the user agent: sockets, names, the one timer, and the effects of the core.

Everything runs on the loop; only looking up names and opening connections take tasks.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Protocol

import structlog

from gateway.lines.port import Wire
from gateway.lines.sip.dialogs.core import (
    Answered,
    CallClosed,
    CallKey,
    Core,
    CoreEffect,
    Invited,
    Lookup,
    Reported,
)
from gateway.lines.sip.dialogs.vocabulary import CallSettings, Report
from gateway.lines.sip.message.address import host_reference, ip_of
from gateway.lines.sip.message.message import Malformed, Response, parse
from gateway.lines.sip.opening import OwnSockets
from gateway.lines.sip.settings import SipSettings
from gateway.lines.sip.through_front import Carriage, ThroughFront
from gateway.lines.sip.transactions.hop import Hop, Timers, Transport
from gateway.lines.sip.transactions.layer import Emit, Layer
from gateway.lines.sip.transactions.matching import Key
from gateway.lines.sip.transactions.routing import direct_hops
from gateway.lines.sip.transport.resolver import Resolver

log = structlog.get_logger("sip")

MAX_NAMES = 256
"""Local addresses remembered by far host."""


Ask = Callable[[float], list[CoreEffect]]
"""Something the core is told at a time, and what it wants done then."""


class NetworkOwner(Protocol):
    """Who is told what comes of calls."""

    def invited(self, invited: Invited) -> None:
        """Answer a call that wants in."""

    def reported(self, key: CallKey, report: Report) -> None:
        """Take what a call reports."""

    def closed(self, key: CallKey) -> None:
        """Nothing more will come of this call."""

    def answered(self, label: str, response: Response | None) -> None:
        """Take the answer to a request beside calls; None: there was none."""


def token() -> str:
    """Return 80 random bits: tags and branches need 32 at least (RFC 3261, section 19.3)."""
    return secrets.token_hex(10)


class SipNetwork:
    """Our presence on a SIP network."""

    def __init__(
        self,
        settings: SipSettings,
        owner: NetworkOwner,
        timers: Timers | None = None,
        wire: Wire | None = None,
    ) -> None:
        """`wire` leads to the line's front, where that has the sockets."""
        self.settings = settings
        self.timers = timers or Timers()
        self.call_settings = CallSettings(
            session_expires=settings.session_expires,
            min_se=settings.min_se,
            reliable=settings.reliable,
            ring_seconds=settings.ring_seconds,
            transfer_seconds=settings.transfer_seconds,
            refer=settings.accept_refer != "never",
            agent=settings.user_agent,
        )
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._transports: Carriage
        if wire is None:
            self._transports = OwnSockets(settings, self._received, self._broke)
        else:
            self._transports = ThroughFront(wire, self._received, self._broke)
        self._layer = Layer(self.timers, token, self._sent_by)
        self.core = Core(self.call_settings, self._layer, token, self._resolve)
        self._inbox: deque[Ask] = deque()
        self._resolver = Resolver(self._kinds())
        self._group: asyncio.TaskGroup | None = None
        self._timer: asyncio.Handle | None = None
        self._timer_at = 0.0
        "when it comes; uvloop's handle does not say so where that is already past"
        self._local: OrderedDict[str, str] = OrderedDict()

    def _kinds(self) -> list[Transport]:
        settings = self.settings
        kinds: list[tuple[Transport, int | None]] = [
            ("tls", settings.tls),
            ("udp", settings.udp),
            ("tcp", settings.tcp),
        ]
        return [kind for kind, port in kinds if port is not None]

    # --- life

    async def open(self, group: asyncio.TaskGroup) -> None:
        """Bind the sockets; raises StartFailed."""
        self._group = group
        await self._transports.open(group)

    async def close(self) -> None:
        """Close the sockets."""
        if self._timer is not None:
            self._timer.cancel()
        await self._transports.close()

    @property
    def dropped(self) -> int:
        """Messages that were not listened to."""
        return self._transports.dropped

    def port(self, transport: Transport) -> int:
        """Return the port bound for a transport, 0 when it is not listened to."""
        found = (one.port for one in self._transports.bound if one.transport == transport)
        return next(found, 0)

    # --- addresses

    def local_host(self, far: str) -> str:
        """Return the address by which a far host reaches us."""
        if self.settings.advertised:
            return self.settings.advertised
        bound = ip_of(self.settings.host)
        if bound is not None and not bound.is_unspecified:
            return self.settings.host
        known = self._local.get(far)
        if known is None:
            known = _way_to(far)
            self._local[far] = known
            if len(self._local) > MAX_NAMES:
                self._local.popitem(last=False)
        return known

    def _sent_by(self, hop: Hop) -> str:
        host = host_reference(self.local_host(hop.host))
        return f"{host}:{self.port(hop.transport) or self.port('udp') or 5060}"

    def contact(self, hop: Hop, user: str) -> str:
        """Return our Contact value towards a hop."""
        kind = hop.transport if self.port(hop.transport) else self._kinds()[0]
        host = host_reference(self.local_host(hop.host))
        parameter = "" if kind == "udp" else f";transport={kind}"
        name = f"{user}@" if user else ""
        return f"<sip:{name}{host}:{self.port(kind)}{parameter}>"

    def _resolve(self, uri: str, flow: Hop | None) -> tuple[Hop, ...] | None:
        return direct_hops(uri, flow, self.settings.nat)

    async def hops(self, uri: str) -> tuple[Hop, ...]:
        """Return the hops of a URI, looked up where need be."""
        try:
            known = direct_hops(uri, None, self.settings.nat)
        except ValueError:
            return ()
        return known if known is not None else await self._resolver.hops(uri)

    # --- from the sockets

    def _received(self, data: bytes, hop: Hop) -> None:
        def read(now: float) -> list[CoreEffect]:
            try:
                message = parse(data, stream=hop.reliable)
            except Malformed as error:
                log.info("sip_malformed", host=hop.host, reason=str(error))
                return self.core.malformed(error, hop)
            return self.core.receive(message, hop, now)

        self.post(read)

    def _broke(self, owner: Key | None) -> None:
        self.post(lambda now: self.core.broke(owner, now))

    def _tick(self) -> None:
        self._timer = None
        self.post(self.core.tick)

    # --- the inbox and the fence

    def post(self, ask: Ask) -> None:
        """Let the core take something, and do what it wants before this returns, in order.

        What is posted while something is being done is taken after that: nobody who is told of a
        report, and orders something, is told of the outcome in the middle of it.
        """
        self._inbox.append(ask)
        if len(self._inbox) > 1:
            return
        while self._inbox:
            try:
                for effect in self._inbox[0](self._loop.time()):
                    self._perform(effect)
            except BaseException:  # fence: one message must not take the line down
                log.exception("sip_broke")
            finally:
                self._inbox.popleft()
        self._arm()

    # --- effects

    def _perform(self, effect: CoreEffect) -> None:
        match effect:
            case Emit(message, hop, owner):
                self._transports.send(message.encode(), hop, owner)
            case Lookup():
                if self._group is not None:
                    self._group.create_task(self._look_up(effect))
            case Invited():
                self._owner.invited(effect)
            case Reported(key, report):
                self._owner.reported(key, report)
            case CallClosed(key):
                self._owner.closed(key)
            case Answered(label, response):
                self._owner.answered(label, response)

    async def _look_up(self, lookup: Lookup) -> None:
        hops = await self._resolver.hops(lookup.uri)
        if not hops:
            log.info("sip_name_unknown", uri=lookup.uri)
        self.post(lambda now: self.core.looked_up(lookup, hops, now))

    def _arm(self) -> None:
        deadline = self.core.deadline
        timer = self._timer
        if deadline is None:
            return
        if timer is not None:
            if self._timer_at <= deadline and not timer.cancelled():
                return  # it comes early enough, and looks again then
            timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_at(deadline, self._tick)


def _way_to(far: str) -> str:
    """Ask the kernel which of our addresses leads there; nothing is sent."""
    family = socket.AF_INET6 if ":" in far else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((far, 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])
