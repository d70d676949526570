"""The SIP line: who may call, who answers, and the legs of the calls that are up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

import structlog
from starlette.routing import BaseRoute

from gateway.doors.judgement import Doors
from gateway.events import CallerKey, CallInfo, TransferEnded
from gateway.lines.port import Speak, Standing, Wire
from gateway.lines.rtp.codecs import Codec
from gateway.lines.sip.accounts import Accounts
from gateway.lines.sip.admission import Admission, Rejection, Verdict, cause_of
from gateway.lines.sip.desk import Desk, Member
from gateway.lines.sip.dialler import Dialler
from gateway.lines.sip.dialogs.core import CallKey, Invited
from gateway.lines.sip.dialogs.vocabulary import (
    Accept,
    ChangeMedia,
    Established,
    HangUp,
    KeyCame,
    MediaAgreed,
    MediaRefused,
    Over,
    PressKey,
    Rang,
    Referred,
    Report,
    Ring,
    TransferWent,
)
from gateway.lines.sip.http import routes
from gateway.lines.sip.identity import call_info
from gateway.lines.sip.leg import SipLeg
from gateway.lines.sip.message.message import Request, Response
from gateway.lines.sip.music import music
from gateway.lines.sip.network import SipNetwork, token
from gateway.lines.sip.settings import SipSettings
from gateway.lines.sip.toll import Toll
from gateway.lines.sip.transactions.hop import Timers
from gateway.lines.sip.transfers import Transfers
from gateway.lines.websocket.upgrade import SocketDoor
from gateway.ports import CallTaker

log = structlog.get_logger("sip")


class SipLine:
    """Takes and places SIP calls, and gives their legs to the gateway."""

    def __init__(
        self,
        settings: SipSettings,
        answer: CallTaker,
        doors: Doors,
        *,
        default_agent: str = "",
        timers: Timers | None = None,
        speak: Speak | None = None,
        wire: Wire | None = None,
        registers: bool = True,
    ) -> None:
        """`speak` gives the sound of a summary, for transfers that are announced.

        `wire` leads to the front that has the sockets; `registers` says whether this is the
        process that keeps the trunks' registrations.
        """
        self.settings = settings
        self.network = SipNetwork(settings, self, timers, wire)
        self._answer = answer
        self._doors = doors
        self._admission = Admission(settings, answer, default_agent, token)
        self._accounts = Accounts(settings, self.network)
        self._registers = registers
        self._desk = Desk(settings, self.network, self)
        toll = Toll(settings.dial, doors.allowance)
        hold_music = music(settings.hold_music)
        self._transfers = Transfers(self._desk, self.network, toll, speak, hold_music)
        self.dialler = Dialler(settings, self.network, self._desk, answer, default_agent, toll)
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()

    def __len__(self) -> int:
        return len(self._desk)

    def routes(self) -> list[BaseRoute]:
        """Return the route by which calls are placed."""
        return routes(self.dialler, self._doors)

    def sockets(self) -> dict[str, SocketDoor]:
        """Nothing: the line has sockets of its own."""
        return {}

    async def run(self, ready: Callable[[], None]) -> None:
        """Serve until `stop`; raises OSError when a port is taken."""
        async with asyncio.TaskGroup() as group:
            await self.network.open(group)
            if self.settings.exposure:
                log.warning("sip_exposed", said=self.settings.exposure)
            self._transfers.group = self.dialler.group = group
            if self._registers:
                self._accounts.begin()
            ready()
            try:
                await self._stop.wait()
            finally:
                await asyncio.shield(self._leave())

    def drain(self) -> None:
        """Have new calls sent elsewhere: registrars and proxies are told."""
        self.network.core.draining = True
        self._accounts.leave()

    def stop(self) -> None:
        """Let `run` end."""
        self._stop.set()

    def standing(self) -> Standing:
        """Return where the line listens, and which trunks do not register it."""
        settings = self.settings
        bound = (("UDP", settings.udp), ("TCP", settings.tcp), ("TLS", settings.tls))
        said = ", ".join(f"{name} {port}" for name, port in bound if port is not None)
        lacking = [f"{name}: {state}" for name, state in self._accounts.lacking()]
        said = "; ".join([said, *lacking])
        return Standing("note" if lacking else "ready", said, len(lacking))

    async def _leave(self) -> None:
        """Say goodbye to everybody: BYE, and the registrations taken back."""
        for member in self._desk.members:
            self._desk.order(member.key, HangUp("the gateway stops"))
        self._accounts.leave()
        self._desk.beat.stop()
        await asyncio.sleep(0.05)  # what was just sent leaves the process
        await self.network.close()

    # --- calls that come in

    def invited(self, invited: Invited) -> None:
        """Let a call in, or refuse it in the right words."""
        arrived, now = invited.arrived, self._loop.time()
        core = self.network.core
        verdict = self._admission.judge(arrived.request, arrived.hop, now)
        if not isinstance(verdict, Verdict):
            _tell_refusal(arrived.hop.host, verdict)
            if verdict.cause:
                self._answer.missed(self._admission.refused(arrived, verdict))
            code, headers = verdict.code, verdict.headers
            self.network.post(lambda now: core.refuse(arrived, code, now, headers))
            return

        def describe(codec: Codec) -> CallInfo:
            return _describe(arrived.request, verdict, codec, self.settings.registered_users)

        member = self._desk.admit(invited, verdict.srtp, describe)
        if isinstance(member, Rejection):
            self._answer.missed(self._admission.refused(arrived, member))
            return
        if member is None:
            return
        member.free = self._answer.take()
        if invited.replaces is not None and self._transfers.replace(invited.replaces, member):
            self._desk.order(member.key, Accept())
            return
        self._greet(member)

    def _greet(self, member: Member) -> None:
        """Ring, and answer."""
        settings, desk = self.settings, self._desk
        if settings.progress != "none":
            desk.order(member.key, Ring(early=settings.progress == "early"))
        if settings.ring_before_answer:
            member.timer = self._loop.call_later(
                settings.ring_before_answer, desk.order, member.key, Accept()
            )
        else:
            desk.order(member.key, Accept())

    # --- from the network

    def reported(self, key: CallKey, report: Report) -> None:
        """Take what a call reports."""
        member = self._desk.get(key)
        if member is None:
            return
        if member.watch is not None:
            member.watch(report)
        match report:
            case MediaAgreed(agreement, early):
                self._desk.agreed(member, agreement, early)
            case MediaRefused(reason):
                log.info("sip_media_refused", host=member.hop.host, why=reason)
            case Established():
                self._established(member)
            case KeyCame(pressed):
                if member.leg is not None:
                    member.leg.notice(CallerKey(pressed))
            case TransferWent():
                self._transfers.went(member, report)
            case Over():
                if member.arrived is not None and not member.begun:
                    said = Rejection(report.code, report.reason, cause=cause_of(report))
                    asked = member.arrived
                    self._answer.missed(self._admission.refused(asked, said))
                self._desk.over(member, report)
            case Referred():
                self._transfers.referred(member, report)
            case Rang():
                pass

    def _established(self, member: Member) -> None:
        if self._transfers.established(member) or member.leg is None or member.begun:
            return
        member.begun = True
        self._desk.beat.remove(member.leg.tick)
        member.free()
        self._answer.begin(member.leg)

    def closed(self, key: CallKey) -> None:
        """Nothing is left to do: the leg ended with `Over`."""

    def answered(self, label: str, response: Response | None) -> None:
        """Take the answer to a registration."""
        self._accounts.answered(label, response)

    # --- from the legs

    def press_by_info(self, leg: SipLeg, keys: str) -> None:
        """Press keys by INFO, one after the other."""
        pace = (self.settings.key_ms + self.settings.key_gap_ms) / 1000
        for index, key in enumerate(keys):
            order = PressKey(key, self.settings.key_ms)
            self._loop.call_later(index * pace, self._desk.order_leg, leg, order)

    def transfer_leg(self, leg: SipLeg, target: str, summary: str) -> None:
        """Hand the caller on."""
        try:
            self._transfers.begin(leg, target, summary)
        except ValueError as error:
            leg.notice(TransferEnded(False, str(error)))

    def hold_leg(self, leg: SipLeg, held: bool) -> None:
        """Put the caller on hold, or take them back."""
        self._desk.order_leg(leg, ChangeMedia("sendonly" if held else "sendrecv"))

    def end_leg(self, leg: SipLeg, reason: str) -> None:
        """Hang up."""
        self._desk.order_leg(leg, HangUp(reason))

    def leg_is_dead(self, leg: SipLeg, seconds: float) -> None:
        """Hang up on a far end that has gone silent."""
        log.info("sip_media_timeout", call_id=leg.info.call_id, seconds=round(seconds, 1))
        self._desk.order_leg(leg, HangUp("no media", 102, failure=True))


def _tell_refusal(host: str, refused: Rejection) -> None:
    """Log a call that may not come in; what somebody got wrong has an event of its own.

    Whoever bans addresses (fail2ban) reads that one: every honest caller is challenged once.
    """
    if refused.code == 401 and not refused.attempt:
        log.info("sip_challenged", host=host)
    elif refused.code == 401:
        log.warning("sip_auth_failed", host=host, user=refused.claimed, why=refused.why)
    else:
        log.info("sip_refused", host=host, code=refused.code, why=refused.why)


def _describe(request: Request, verdict: Verdict, codec: Codec, own: Collection[str]) -> CallInfo:
    return call_info(
        token(), request, verdict.agent, codec, trunk=verdict.trunk, user=verdict.user, own=own
    )
