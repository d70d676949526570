"""The SIP line: who may call, who answers, and the legs of the calls that are up."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from gateway.events import CallerKey, TransferEnded
from gateway.lines.sip.accounts import Accounts
from gateway.lines.sip.admission import Admission, Verdict
from gateway.lines.sip.core import CallKey, Invited
from gateway.lines.sip.hop import Hop, Timers
from gateway.lines.sip.identity import call_info
from gateway.lines.sip.leg import SipLeg
from gateway.lines.sip.media_socket import MediaSockets
from gateway.lines.sip.message import Request, Response
from gateway.lines.sip.network import SipNetwork, token
from gateway.lines.sip.offer import Agreement, LocalMedia, Negotiation, Srtp
from gateway.lines.sip.settings import SipSettings
from gateway.lines.sip.stream import RtpStream, StreamSettings
from gateway.lines.sip.ua import Ground
from gateway.lines.sip.vocabulary import (
    Accept,
    ChangeMedia,
    Established,
    HangUp,
    KeyCame,
    MediaAgreed,
    Order,
    Over,
    PressKey,
    Rang,
    Refer,
    ReferDecision,
    Referred,
    Report,
    Ring,
    TransferWent,
)
from gateway.ports import Answer

log = structlog.get_logger("sip")


@dataclass(slots=True)
class _Line:
    """One call as the line knows it."""

    sockets: MediaSockets
    hop: Hop
    verdict: Verdict
    request: Request
    leg: SipLeg | None = None
    begun: bool = False
    timer: asyncio.TimerHandle | None = None


class SipLine:
    """Takes SIP calls and gives their legs to the gateway."""

    def __init__(
        self,
        settings: SipSettings,
        answer: Answer,
        *,
        default_agent: str = "",
        timers: Timers | None = None,
        quality: Callable[[SipLeg], None] | None = None,
    ) -> None:
        """`quality` is told of every leg that ends, for the call log."""
        self.settings = settings
        self.network = SipNetwork(settings, self, timers)
        self._answer = answer
        self._quality = quality
        self._admission = Admission(settings, answer, default_agent, token)
        self._accounts = Accounts(settings, self.network)
        self._lines: dict[CallKey, _Line] = {}
        self._legs: dict[SipLeg, CallKey] = {}
        self._loop = asyncio.get_running_loop()

    def __len__(self) -> int:
        return len(self._lines)

    async def run(self, ready: Callable[[], None] | None = None) -> None:
        """Serve until cancelled; raises OSError when a port is taken."""
        async with asyncio.TaskGroup() as group:
            await self.network.open(group)
            self._accounts.begin()
            if ready is not None:
                ready()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.shield(self._leave())

    async def _leave(self) -> None:
        """Say goodbye to everybody: BYE, and the registrations taken back."""
        for key in list(self._lines):
            self._order(key, HangUp("the gateway stops"))
        self._accounts.leave()
        await asyncio.sleep(0.05)  # what was just sent leaves the process
        await self.network.close()

    # --- from the network

    def invited(self, invited: Invited) -> None:
        """Let a call in, or refuse it in the right words."""
        arrived, now = invited.arrived, self._loop.time()
        core = self.network.core
        verdict = self._admission.judge(arrived.request, arrived.hop, now)
        if not isinstance(verdict, Verdict):
            log.info("sip_refused", host=arrived.hop.host, code=verdict.code, why=verdict.why)
            if verdict.code == 401:
                response = self._admission.challenge(arrived.request, now)
                self.network.perform(core.respond(arrived, response, now))
            else:
                self.network.perform(core.refuse(arrived, verdict.code, now, verdict.headers))
            return
        try:
            sockets = MediaSockets.open(self.settings.host, self.settings.rtp_ports)
        except OSError as error:
            log.warning("sip_no_ports", reason=str(error))
            busy = [("Retry-After", "10")]
            self.network.perform(core.refuse(arrived, 503, now, busy))
            return
        ground = self._ground(arrived.hop, sockets.port, verdict.srtp)
        contact = self.network.contact(arrived.hop, "")
        key, effects = core.open(invited, ground, contact, now)
        if key is None:
            sockets.close()
        else:
            self._lines[key] = _Line(sockets, arrived.hop, verdict, arrived.request)
        self.network.perform(effects)
        if key is not None and key in self._lines:
            self._greet(key)

    def _ground(self, hop: Hop, port: int, srtp: Srtp) -> Ground:
        settings = self.settings
        local = LocalMedia(
            self.network.local_host(hop.host), port, settings.codecs, srtp, settings.ptime_ms
        )
        media = Negotiation(local, secrets.randbits(48), secrets.token_bytes)
        return Ground(self.network.call_settings, self.network.timers, token, media)

    def _greet(self, key: CallKey) -> None:
        """Ring, and answer."""
        settings = self.settings
        if settings.progress != "none":
            self._order(key, Ring(early=settings.progress == "early"))
        line = self._lines.get(key)
        if line is None:
            return
        if settings.ring_before_answer:
            line.timer = self._loop.call_later(
                settings.ring_before_answer, self._order, key, Accept()
            )
        else:
            self._order(key, Accept())

    def reported(self, key: CallKey, report: Report) -> None:
        """Take what a call reports."""
        line = self._lines.get(key)
        if line is None:
            return
        match report:
            case MediaAgreed(agreement):
                self._agreed(key, line, agreement)
            case Established():
                if line.leg is not None and not line.begun:
                    line.begun = True
                    self._answer.begin(line.leg)
            case KeyCame(pressed):
                if line.leg is not None:
                    line.leg.notice(CallerKey(pressed))
            case TransferWent(accepted, code, reason):
                if line.leg is not None:
                    line.leg.notice(TransferEnded(accepted, f"{code} {reason}"))
            case Over():
                self._over(key, line, report)
            case Referred():
                self._order(key, ReferDecision(False))
            case Rang():
                pass

    def _agreed(self, key: CallKey, line: _Line, agreement: Agreement) -> None:
        if line.leg is not None:
            line.leg.agree(agreement)
            return
        settings = self.settings
        media = StreamSettings(
            line.hop.host,
            time.time() - self._loop.time(),
            f"{token()}@{self.network.local_host(line.hop.host)}",
            settings.key_ms / 1000,
            settings.key_gap_ms / 1000,
        )
        stream = RtpStream(agreement, media, secrets.randbelow)
        verdict = line.verdict
        info = call_info(
            token(),
            line.request,
            verdict.agent,
            agreement.codec,
            trunk=verdict.trunk,
            user=verdict.user,
        )
        line.leg = SipLeg(info, stream, line.sockets, self, settings.media_timeout)
        self._legs[line.leg] = key

    def _over(self, key: CallKey, line: _Line, over: Over) -> None:
        del self._lines[key]
        if line.timer is not None:
            line.timer.cancel()
        leg = line.leg
        if leg is None:
            line.sockets.close()
            return
        self._legs.pop(leg, None)
        leg.over(over.reason or over.outcome, over.by == "failure")
        if self._quality is not None and line.begun:
            self._quality(leg)

    def closed(self, key: CallKey) -> None:
        """Nothing is left to do: the leg ended with `Over`."""

    def answered(self, label: str, response: Response | None) -> None:
        """Take the answer to a registration."""
        self._accounts.answered(label, response)

    # --- from the legs

    def _order(self, key: CallKey, order: Order) -> None:
        self.network.perform(self.network.core.order(key, order, self._loop.time()))

    def _order_leg(self, leg: SipLeg, order: Order) -> None:
        key = self._legs.get(leg)
        if key is not None:
            # Not from inside the call's own effect: what follows comes as an event of its own.
            self._loop.call_soon(self._order, key, order)

    def press_by_info(self, leg: SipLeg, keys: str) -> None:
        """Press keys by INFO, one after the other."""
        pace = (self.settings.key_ms + self.settings.key_gap_ms) / 1000
        for index, key in enumerate(keys):
            order = PressKey(key, self.settings.key_ms)
            self._loop.call_later(index * pace, self._order_leg, leg, order)

    def transfer_leg(self, leg: SipLeg, target: str, summary: str) -> None:
        """Ask the caller's side to call someone else."""
        self._order_leg(leg, Refer(target))

    def hold_leg(self, leg: SipLeg, held: bool) -> None:
        """Put the caller on hold, or take them back."""
        self._order_leg(leg, ChangeMedia("sendonly" if held else "sendrecv"))

    def end_leg(self, leg: SipLeg, reason: str) -> None:
        """Hang up."""
        self._order_leg(leg, HangUp(reason))

    def leg_is_dead(self, leg: SipLeg, seconds: float) -> None:
        """Hang up on a far end that has gone silent."""
        log.info("sip_media_timeout", call_id=leg.info.call_id, seconds=round(seconds, 1))
        self._order_leg(leg, HangUp("no media", 102))
