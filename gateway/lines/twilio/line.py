"""The Twilio line: webhooks and media sockets on the gateway's own HTTP port."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import structlog
from starlette.routing import Route

from gateway.doors.judgement import Doors
from gateway.doors.table import STREAM, Who
from gateway.events import CallInfo
from gateway.lines.port import Standing
from gateway.lines.twilio import signature, stream, wire
from gateway.lines.twilio.connection import TwilioStream
from gateway.lines.twilio.leg import TwilioLeg
from gateway.lines.twilio.rest import TwilioRest
from gateway.lines.twilio.settings import TwilioSettings
from gateway.lines.twilio.tokens import Ticket, Tickets
from gateway.lines.twilio.webhook import (
    OPEN,
    STREAM_PATH,
    UNSIGNED,
    Gate,
    Stranger,
    Webhooks,
    stream_path,
)
from gateway.lines.websocket.codes import POLICY_VIOLATION, TRY_AGAIN_LATER
from gateway.lines.websocket.socket import MediaSocket, SocketLimits, SocketOwner
from gateway.lines.websocket.upgrade import SocketDoor, UpgradeAsk, UpgradeRefusal
from gateway.log_events import CallRefusedLogged
from gateway.plumbing.seat import ALONE, Seat
from gateway.ports import CallTaker
from media.codec import WireForm

if TYPE_CHECKING:
    from twilio.http import HttpClient

log = structlog.get_logger("twilio")


class TwilioLine:
    """Lets calls in; afterwards each has its own leg, which the line only knows by name.

    Make it on the running loop.
    """

    def __init__(
        self,
        settings: TwilioSettings,
        answer: CallTaker,
        default_agent: str,
        doors: Doors,
        *,
        seat: Seat = ALONE,
        http_client: HttpClient | None = None,
    ) -> None:
        """`http_client` is what Twilio's REST client sends with, for tests and proxies."""
        self.settings = settings
        self._answer = answer
        self._default_agent = default_agent
        self._http = http_client
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._gate = Gate(settings, doors)
        self._tickets = Tickets(settings.token_seconds)
        self._stream_path = stream_path(seat)
        self._rests: dict[str, TwilioRest] = {}
        self.legs: dict[str, TwilioLeg] = {}
        "by CallSid"
        if not settings.require_signature:
            log.warning("twilio_open", setting="twilio.require_signature", hint=OPEN)
        elif not settings.signed:
            log.info("twilio_unsecured", hint=UNSIGNED)

    def routes(self) -> list[Route]:
        """Return the webhooks' routes."""
        webhooks = Webhooks(
            self.settings,
            self._answer,
            self._default_agent,
            self._gate,
            self._tickets,
            self._loop.time,
            stream_path=self._stream_path,
        )
        return webhooks.routes()

    def sockets(self) -> dict[str, SocketDoor]:
        """Return who takes media streams."""
        limits = SocketLimits(max_message=self.settings.max_message)
        door = SocketDoor(self._upgrade, limits)
        return {STREAM_PATH: door, self._stream_path: door}

    async def run(self, ready: Callable[[], None]) -> None:
        """Serve until `stop`: everything comes over the gateway's HTTP port."""
        ready()
        await self._stop.wait()

    def drain(self) -> None:
        """Nothing: what Twilio asks from now on is refused by the `CallTaker`, in its words."""

    def stop(self) -> None:
        """Let `run` end."""
        self._stop.set()

    def standing(self) -> Standing:
        """Return who may claim to be Twilio."""
        if not self.settings.require_signature:
            return Standing("note", "open to everybody")
        return Standing("ready", "signed webhooks" if self.settings.signed else "the owner only")

    def _upgrade(self, ask: UpgradeAsk) -> SocketOwner | UpgradeRefusal:
        target = ask.path + (f"?{ask.query}" if ask.query else "")
        request = signature.Request(target, ask.headers, socket=True)
        who = self._gate.judge(STREAM, request)
        if isinstance(who, Stranger):
            missed = CallRefusedLogged(
                line="twilio",
                direction="inbound",
                cause="signature",
                said=who.why,
                host=ask.peer,
                code=403,
            )
            self._answer.missed(missed)
            return UpgradeRefusal(403, "forbidden")
        return TwilioStream(self, ask.peer, who)

    # --- for the streams -------------------------------------------------------------------

    def admit(self, start: wire.StartDetail, who: Who) -> Ticket | stream.Refused:
        """Say for whom a stream that has started is, or why it may not go on.

        `who` opened its socket.
        """
        if self.settings.account_sid not in ("", start.account_sid):
            return stream.Refused(POLICY_VIOLATION, "another account", "account")
        if start.call_sid in self.legs:
            return stream.Refused(POLICY_VIOLATION, "this call has a stream already", "doubled")
        ticket = self._ticket(start, who)
        if isinstance(ticket, str):
            return stream.Refused(POLICY_VIOLATION, ticket, "no_token")
        ticket.free()
        refusal = self._answer.admit(ticket.agent)
        if refusal is None:
            return ticket
        code = TRY_AGAIN_LATER if refusal.kind in ("busy", "draining") else POLICY_VIOLATION
        said = ": ".join(filter(None, (refusal.kind, refusal.cause)))
        return stream.Refused(code, said, refusal.cause or refusal.kind)

    def missed(self, start: wire.StartDetail | None, refused: stream.Refused, peer: str) -> None:
        """Write down a stream that was not taken."""
        given = start.custom_parameters if start is not None else {}
        missed = CallRefusedLogged(
            line="twilio",
            direction="inbound",
            cause=refused.cause,
            said=refused.reason,
            agent=given.get("agent"),
            caller=given.get("from"),
            callee=given.get("to"),
            host=peer,
            known_as=start.call_sid if start is not None else None,
            code=refused.code,
        )
        self._answer.missed(missed)

    def _ticket(self, start: wire.StartDetail, who: Who) -> Ticket | str:
        given = start.custom_parameters
        if token := given.get("token", ""):
            return self._tickets.take(token, start.call_sid, self._loop.time())
        if self.settings.require_token and who == "signature":
            return "no token"
        agent = given.get("agent", "") or self._default_agent
        return Ticket(start.call_sid, agent, given.get("from", ""), given.get("to", ""))

    def begin(
        self, ticket: Ticket, start: wire.StartDetail, form: WireForm, socket: MediaSocket
    ) -> TwilioLeg:
        """Make the leg of a stream that was let in, and have its call run."""
        variables = {
            **{k: v for k, v in start.custom_parameters.items() if k != "token"},
            "account_sid": start.account_sid,
            "stream_sid": start.stream_sid,
        }
        info = CallInfo(
            call_id=start.call_sid,
            line="twilio",
            agent=ticket.agent,
            caller=ticket.caller,
            callee=ticket.callee,
            rate=form.rate,
            codec=form.name,
            direction=ticket.direction,
            variables=variables,
        )
        rest = self._rest(self.settings.account_sid or start.account_sid)
        leg = TwilioLeg(info, start.stream_sid, socket, form, self.settings, rest)
        self.legs[info.call_id] = leg
        self._answer.begin(leg)
        return leg

    def forget(self, leg: TwilioLeg) -> None:
        """Take that a leg's socket is down."""
        self.legs.pop(leg.info.call_id, None)

    def _rest(self, account_sid: str) -> TwilioRest | None:
        chosen = self.settings
        if not chosen.auth_token or not account_sid:
            return None
        if account_sid not in self._rests:
            self._rests[account_sid] = TwilioRest(
                account_sid,
                chosen.auth_token,
                edge=chosen.edge,
                region=chosen.region,
                seconds=chosen.rest_seconds,
                http_client=self._http,
            )
        return self._rests[account_sid]
