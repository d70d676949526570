"""The calls of a line and what belongs to each: its sockets, its media and its leg."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from gateway.events import CallInfo
from gateway.lines.rtp.beat import Beat
from gateway.lines.rtp.codecs import Codec
from gateway.lines.rtp.media_socket import MediaSockets
from gateway.lines.rtp.offer import Agreement, LocalMedia, Negotiation, Srtp
from gateway.lines.rtp.session import SessionSettings
from gateway.lines.rtp.stream import RtpStream, StreamSettings
from gateway.lines.sip.admission import Rejection
from gateway.lines.sip.dialogs.core import CallKey, Invited
from gateway.lines.sip.dialogs.placing import Dial
from gateway.lines.sip.dialogs.ua import CallContext
from gateway.lines.sip.dialogs.vocabulary import Order, Over, Report
from gateway.lines.sip.identity import number_of
from gateway.lines.sip.leg import LegControl, SipLeg
from gateway.lines.sip.message.digest import Credentials
from gateway.lines.sip.network import SipNetwork, token
from gateway.lines.sip.settings import SipSettings
from gateway.lines.sip.transactions.hop import Hop
from gateway.lines.sip.transactions.layer import RequestArrived
from gateway.ports import Free, no_place

PLAIN = re.compile(r"[A-Za-z0-9+*._-]{1,64}")
"""Users that need no escape in a URI (RFC 3261, section 25.1)."""

log = structlog.get_logger("sip")

Describe = Callable[[Codec], CallInfo]
Watch = Callable[[Report], None]


@dataclass(slots=True, eq=False)
class Member:
    """One call as the line knows it."""

    key: CallKey
    hop: Hop
    "the far side's last known address"
    sockets: MediaSockets
    describe: Describe
    watch: Watch | None = None
    "is told every report first"
    leg: SipLeg | None = None
    arrived: RequestArrived | None = None
    "the INVITE of a call that came in"
    begun: bool = False
    "the gateway has its leg"
    timer: asyncio.TimerHandle | None = None
    free: Free = no_place
    "gives back the place that is kept for the call until it is up"


class Desk:
    """Keeps one member for each call, from its first message to `Over`."""

    def __init__(self, settings: SipSettings, network: SipNetwork, owner: LegControl) -> None:
        self._settings = settings
        self._network = network
        self._owner = owner
        self._members: dict[CallKey, Member] = {}
        self._legs: dict[SipLeg, CallKey] = {}
        self._loop = asyncio.get_running_loop()
        self.beat = Beat()
        "ticks the legs that the gateway does not have (yet)"

    def __len__(self) -> int:
        return len(self._members)

    @property
    def members(self) -> tuple[Member, ...]:
        """All calls."""
        return tuple(self._members.values())

    def get(self, key: CallKey) -> Member | None:
        """Return a call, while it lasts."""
        return self._members.get(key)

    def of(self, leg: SipLeg) -> Member | None:
        """Return the call that a leg is on now."""
        return self._members.get(self._legs.get(leg, ("", "")))

    # --- beginning

    def admit(self, invited: Invited, srtp: Srtp, describe: Describe) -> Member | Rejection | None:
        """Open a call that comes in; None when it is over already, as `Over` said."""
        arrived, now = invited.arrived, self._loop.time()
        core = self._network.core
        try:
            sockets = MediaSockets.open(self._settings.host, self._settings.rtp_ports)
        except OSError as error:
            log.warning("sip_no_ports", reason=str(error))
            later = (("Retry-After", "10"),)
            self._network.post(lambda now: core.refuse(arrived, 503, now, later))
            return Rejection(503, str(error), later, cause="ports")
        ground = self._ground(arrived.hop, sockets.port, srtp, ())
        contact = self._network.contact(arrived.hop, _user(arrived.request.uri))
        key, effects = core.open(invited, ground, contact, now)
        if key is None:
            sockets.close()
            self._network.post(lambda now: effects)
            return Rejection(400, "the INVITE begins no call", cause="offer")
        member = self._members[key] = Member(key, arrived.hop, sockets, describe, arrived=arrived)
        self._network.post(lambda now: effects)
        call = core.call(key)
        return None if call is None or call.over else member

    def place(
        self,
        dial: Dial,
        hop: Hop,
        credentials: tuple[Credentials, ...],
        describe: Describe,
        watch: Watch | None = None,
    ) -> Member:
        """Place a call; raises OSError when no ports are left."""
        sockets = MediaSockets.open(self._settings.host, self._settings.rtp_ports)
        secure = hop.transport == "tls" or self._settings.srtp_without_tls
        ground = self._ground(
            hop, sockets.port, self._settings.srtp if secure else "never", credentials
        )
        identity = f"{token()}@{self._network.local_host(hop.host)}"
        key, effects = self._network.core.dial(dial, ground, identity, self._loop.time())
        member = self._members[key] = Member(key, hop, sockets, describe, watch)
        self._network.post(lambda now: effects)
        return member

    def _ground(
        self, hop: Hop, port: int, srtp: Srtp, credentials: tuple[Credentials, ...]
    ) -> CallContext:
        settings, network = self._settings, self._network
        local = LocalMedia(
            network.local_host(hop.host), port, settings.codecs, srtp, settings.ptime_ms
        )
        media = Negotiation(local, secrets.randbits(48), secrets.token_bytes)
        return CallContext(network.call_settings, network.timers, token, media, credentials)

    # --- going on

    def agreed(self, member: Member, agreement: Agreement, early: bool) -> None:
        """Begin the media, or change them."""
        if member.leg is not None:
            member.leg.agree(agreement)
            return
        stream = self.stream(member, agreement)
        info = member.describe(agreement.codec)
        member.leg = SipLeg(
            info,
            stream,
            member.sockets,
            self._owner,
            self._settings.media_timeout,
        )
        self._legs[member.leg] = member.key
        if early and self._settings.progress == "early":
            self.beat.add(member.leg.tick)

    def stream(
        self, member: Member, agreement: Agreement, takes_over: RtpStream | None = None
    ) -> RtpStream:
        """Make the media of a call, perhaps in the place of another's."""
        session = SessionSettings(
            f"{token()}@{self._network.local_host(member.hop.host)}",
            time.time() - self._loop.time(),
            key_seconds=self._settings.key_ms / 1000,
            key_gap=self._settings.key_gap_ms / 1000,
        )
        settings = StreamSettings(member.hop.host, session)
        if takes_over is None:
            return RtpStream(agreement, settings, secrets.randbelow)
        return RtpStream(
            agreement,
            settings,
            secrets.randbelow,
            form=takes_over.form,
            position=takes_over.session.receiver.position,
        )

    def move(self, leg: SipLeg, to: Member) -> None:
        """Let a leg go on over another call, whose own leg nobody has."""
        old, placeholder = self.of(leg), to.leg
        assert placeholder is not None
        if old is not None:
            old.leg = None
        self._legs.pop(placeholder, None)
        self._legs[leg] = to.key
        to.leg, to.begun = leg, True
        stream = self.stream(to, placeholder.stream.agreement, leg.stream)
        leg.move(stream, to.sockets)

    def order(self, key: CallKey, order: Order) -> None:
        """Give a call an order."""
        self._network.post(lambda now: self._network.core.order(key, order, now))

    def order_leg(self, leg: SipLeg, order: Order) -> None:
        """Give the call of a leg an order."""
        member = self.of(leg)
        if member is not None:
            self.order(member.key, order)

    def over(self, member: Member, over: Over) -> None:
        """End a call's media."""
        self._members.pop(member.key, None)
        member.free()
        if member.timer is not None:
            member.timer.cancel()
        leg = member.leg
        if leg is not None:
            self.beat.remove(leg.tick)
        if leg is None:
            member.sockets.close()
            return
        self._legs.pop(leg, None)
        said = over.reason or ("hung up" if over.outcome == "hung_up" else over.outcome)
        leg.over(said, over.by == "failure")


def _user(uri: str) -> str:
    """Return the user that a call was for, to be that of our Contact: some proxies want one."""
    user = number_of(uri)
    return user if PLAIN.fullmatch(user) else ""
