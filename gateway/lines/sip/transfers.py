"""How callers are handed on: by us, and by the far side, to us or through us."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from gateway.events import CallInfo, TransferEnded
from gateway.lines.port import Speak
from gateway.lines.rtp.codecs import Codec
from gateway.lines.sip.desk import Desk, Member
from gateway.lines.sip.dialogs.core import CallKey
from gateway.lines.sip.dialogs.placing import Dial
from gateway.lines.sip.dialogs.refer_headers import Replaces
from gateway.lines.sip.dialogs.vocabulary import (
    Established,
    HangUp,
    Over,
    Rang,
    Refer,
    ReferDecision,
    ReferProgress,
    Referred,
    Report,
    TransferWent,
)
from gateway.lines.sip.leg import SipLeg
from gateway.lines.sip.message.address import host_reference, parse_uri
from gateway.lines.sip.network import SipNetwork
from gateway.lines.sip.toll import Toll

log = structlog.get_logger("sip")

SUMMARY_SECONDS = 8.0
"""How long the voice may take to speak a summary, while the person it is for waits."""

LEAVE_AFTER = 0.5
"""Seconds between a transfer's success and our BYE, if the far side did not hang up itself."""


@dataclass(slots=True)
class _Following:
    """A call that takes the place of another in a leg, once it is up."""

    leg: SipLeg
    old: CallKey
    asked: bool
    "by REFER, so that its progress is told"


class Transfers:
    """Keeps track of every transfer under way."""

    def __init__(
        self,
        desk: Desk,
        network: SipNetwork,
        toll: Toll,
        speak: Speak | None,
        hold_music: bytes,
    ) -> None:
        """`speak` gives the sound of a summary, for transfers that are announced."""
        self.group: asyncio.TaskGroup | None = None
        self._speak = speak
        self._music = hold_music
        self._consulting: dict[SipLeg, Member] = {}
        self._desk = desk
        self._network = network
        self._toll = toll
        self._following: dict[CallKey, _Following] = {}
        self._loop = asyncio.get_running_loop()

    # --- ours

    def begin(self, leg: SipLeg, target: str, summary: str) -> None:
        """Ask the far side to call `target`, who is told a summary first when there is one.

        Raises ValueError when `target` is no address.
        """
        address = self._address(leg, target)
        if summary and self._speak is not None and self.group is not None:
            self.group.create_task(self._announce(leg, address, summary, self._speak))
        else:
            self._desk.order_leg(leg, Refer(address))

    async def _announce(self, leg: SipLeg, address: str, summary: str, speak: Speak) -> None:
        """Call the target, say the summary, and only then put the caller through (RFC 5589, 7)."""
        leg.entertain(self._music)
        try:
            member = await self._consult(leg, address)
            async with asyncio.timeout(SUMMARY_SECONDS):
                sound = await speak(leg.info.agent, summary, 8000)
            await self._tell(member, sound)
            call = self._network.core.call(member.key)
            if call is None or call.dialog is None:
                raise OSError("the person hung up")
            dialog = call.dialog
            replaces = Replaces(dialog.call_id, dialog.remote.tag, dialog.local.tag)
            self._consulting[leg] = member
            self._desk.order_leg(leg, Refer(dialog.target, str(replaces)))
        except OSError as error:
            self._end_consultation(leg)
            leg.notice(TransferEnded(False, str(error)))

    async def _consult(self, leg: SipLeg, address: str) -> Member:
        """Call the target; raises OSError when nobody answers."""
        hops = await self._network.hops(address)
        member = self._desk.of(leg)
        call = self._network.core.call(member.key) if member else None
        if not hops or call is None or call.dialog is None:
            raise OSError("the address leads nowhere")
        answered: asyncio.Future[str] = self._loop.create_future()

        def watch(report: Report) -> None:
            if answered.done():
                return
            if isinstance(report, Over):
                answered.set_result(f"{report.code} {report.reason}".strip())
            elif isinstance(report, Established):
                answered.set_result("")

        dial = Dial(
            address, f"<{call.dialog.local.uri}>", self._network.contact(hops[0], ""), (), ()
        )
        told = self._desk.place(dial, hops[0], (), _described_as(leg.info), watch)
        told.begun = True  # its leg is ours alone
        try:
            why = await answered
        except asyncio.CancelledError:
            self._desk.order(told.key, HangUp("given up"))
            raise
        if why or told.leg is None:
            raise OSError(why or "no sound was agreed")
        self._desk.beat.add(told.leg.tick)
        return told

    async def _tell(self, member: Member, pcm: bytes) -> None:
        """Say something on a leg of our own, and wait until it was heard."""
        leg = member.leg
        assert leg is not None
        playout = leg.playout
        playout.push(1, playout.form.encode(pcm))
        playout.end(1)
        async with asyncio.timeout(len(pcm) / 16_000 + 5.0):
            while not playout.heard(1, self._loop.time()).finished:
                if self._desk.of(leg) is None:
                    raise OSError("the person hung up")
                await asyncio.sleep(0.1)

    def _end_consultation(self, leg: SipLeg) -> None:
        leg.entertain(b"")
        told = self._consulting.pop(leg, None)
        if told is not None and self._desk.get(told.key) is told:
            self._desk.order(told.key, HangUp("transferred"))

    def _address(self, leg: SipLeg, target: str) -> str:
        """Complete a bare number with the far side's own host, which knows what it means."""
        target = target.strip()
        if ":" in target:
            return f"{target}" if parse_uri(target) else ""
        if not target or not all(char.isalnum() or char in "+*#-._" for char in target):
            raise ValueError(f"{target!r} is neither a number nor a SIP URI")
        member = self._desk.of(leg)
        call = self._network.core.call(member.key) if member else None
        if member is None or call is None or call.dialog is None:
            raise ValueError("the call is over")
        try:
            host = parse_uri(call.dialog.remote.uri).host
        except ValueError:
            host = ""
        return f"sip:{target}@{host or host_reference(member.hop.host)}"

    def went(self, member: Member, report: TransferWent) -> None:
        """Tell how our transfer ended; after a success the call is over for us."""
        leg = member.leg
        if leg is not None:
            self._end_consultation(leg)
            leg.notice(TransferEnded(report.accepted, f"{report.code} {report.reason}".strip()))
        if report.accepted:
            self._loop.call_later(LEAVE_AFTER, self._desk.order, member.key, HangUp("transferred"))

    # --- theirs

    def referred(self, member: Member, report: Referred) -> None:
        """Decide about a REFER, and follow it: the agent then talks to someone else."""
        allowed = self._network.settings.accept_refer
        trusted = self._network.settings.trunk_of(member.hop.host) is not None
        if (
            member.leg is None
            or self.group is None
            or not (allowed == "always" or (allowed == "trunks" and trusted))
        ):
            self._refer_refused(member, f"sip.accept_refer is {allowed}")
            return
        problem = self._toll.problem(report.target, "refer", self._loop.time())
        if problem is not None:
            self._refer_refused(member, problem)
            return
        log.info("sip_referred", call_id=member.leg.info.call_id)
        self._desk.order(member.key, ReferDecision(True))
        self.group.create_task(self._follow(member, member.leg, report))

    def _refer_refused(self, member: Member, why: str) -> None:
        log.warning("sip_refer_refused", host=member.hop.host, why=why)
        self._desk.order(member.key, ReferDecision(False))

    async def _follow(self, member: Member, leg: SipLeg, report: Referred) -> None:
        hops = await self._network.hops(report.target)
        call = self._network.core.call(member.key)
        if not hops or call is None or call.dialog is None:
            self._desk.order(member.key, ReferProgress(404, "Not Found"))
            return
        headers = [("Referred-By", report.referred_by)] if report.referred_by else []
        if report.replaces:
            headers.append(("Replaces", report.replaces))
        dial = Dial(
            report.target,
            f"<{call.dialog.local.uri}>",
            self._network.contact(hops[0], ""),
            (),
            tuple(headers),
        )
        following = _Following(leg, member.key, asked=True)
        try:
            new = self._desk.place(
                dial, hops[0], (), _described_as(leg.info), self._watch(following)
            )
        except OSError:
            self._desk.order(member.key, ReferProgress(503, "Service Unavailable"))
            return
        if self._desk.get(new.key) is new:
            self._following[new.key] = following

    def _watch(self, following: _Following) -> Callable[[Report], None]:
        def watch(report: Report) -> None:
            match report:
                case Rang(code, phrase):
                    self._desk.order(following.old, ReferProgress(code, phrase))
                case Over(code=code, reason=reason):
                    self._desk.order(following.old, ReferProgress(code or 503, reason))
                case _:
                    pass

        return watch

    def replace(self, old: CallKey, member: Member) -> bool:
        """Let a call that came with Replaces take the place of another (RFC 3891)."""
        present = self._desk.get(old)
        if present is None or present.leg is None or not present.begun:
            return False
        self._following[member.key] = _Following(present.leg, old, asked=False)
        return True

    def established(self, member: Member) -> bool:
        """Take it that a call is up; True when it took another's place."""
        following = self._following.pop(member.key, None)
        if following is None:
            return False
        if self._desk.of(following.leg) is None:
            self._desk.order(member.key, HangUp("the other call is over"))
            return True
        member.watch = None
        self._desk.move(following.leg, member)
        if following.asked:
            self._desk.order(following.old, ReferProgress(200, "OK"))
            self._loop.call_later(LEAVE_AFTER, self._desk.order, following.old, HangUp("replaced"))
        else:
            self._desk.order(following.old, HangUp("replaced"))
        return True


def _described_as(info: CallInfo) -> Callable[[Codec], CallInfo]:
    def describe(codec: Codec) -> CallInfo:
        return info

    return describe
