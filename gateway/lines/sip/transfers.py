"""How callers are handed on: by us, and by the far side, to us or through us."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from gateway.events import CallInfo, TransferEnded
from gateway.lines.sip.address import host_reference, parse_uri
from gateway.lines.sip.codecs import Codec
from gateway.lines.sip.core import CallKey
from gateway.lines.sip.desk import Desk, Member
from gateway.lines.sip.leg import SipLeg
from gateway.lines.sip.network import SipNetwork
from gateway.lines.sip.placing import Dial
from gateway.lines.sip.vocabulary import (
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

log = structlog.get_logger("sip")

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

    def __init__(self, desk: Desk, network: SipNetwork) -> None:
        self.group: asyncio.TaskGroup | None = None
        self._desk = desk
        self._network = network
        self._following: dict[CallKey, _Following] = {}
        self._loop = asyncio.get_running_loop()

    # --- ours

    def begin(self, leg: SipLeg, target: str, summary: str) -> None:
        """Ask the far side to call `target`; raises ValueError when that is no address."""
        self._desk.order_leg(leg, Refer(self._address(leg, target)))

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
            self._desk.order(member.key, ReferDecision(False))
            return
        log.info("sip_referred", call_id=member.leg.info.call_id)
        self._desk.order(member.key, ReferDecision(True))
        self.group.create_task(self._follow(member, member.leg, report))

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
