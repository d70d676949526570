"""The HTTP side of the Twilio line: what Twilio asks when a call comes in, and what it reports."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal
from urllib.parse import parse_qsl, urlsplit

import structlog
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from gateway.doors.judgement import Doors
from gateway.doors.table import STATUS_REPORT, VOICE, Door, Who
from gateway.lines.twilio import signature, twiml
from gateway.lines.twilio.settings import TwilioSettings
from gateway.lines.twilio.tokens import Ticket, Tickets
from gateway.log_events import CallRefusedLogged
from gateway.plumbing.locality import names_this_machine
from gateway.plumbing.seat import Seat
from gateway.ports import CallTaker

VOICE_PATH = "/twilio/voice"
STREAM_PATH = "/twilio/stream"
STATUS_PATH = "/twilio/status"

BODY_MOST = 65536
"""Bytes of a posted form; Twilio's have one or two thousand."""

UNSIGNED = "without TWILIO_AUTH_TOKEN only this machine's owner is taken for Twilio"

OPEN = "anybody may say that they are Twilio"

log = structlog.get_logger("twilio")


@dataclass(frozen=True, slots=True)
class Stranger:
    """Somebody who is not let in."""

    why: str


@dataclass(slots=True)
class Gate:
    """Decides whether a request is Twilio's."""

    settings: TwilioSettings
    doors: Doors
    signatures: signature.Signatures = field(init=False)

    def __post_init__(self) -> None:
        chosen = self.settings
        self.signatures = signature.Signatures(
            chosen.auth_token, chosen.shared_key, chosen.public_url
        )

    def judge(self, door: Door, request: signature.Request) -> Who | Stranger:
        """Say as whom a request comes in, or why it does not."""
        problem = self.signatures.problem(request) if self.settings.signed else UNSIGNED
        known: list[Who] = [] if problem else ["signature"]
        if not self.settings.require_signature:
            known.append("setting")
        return self.doors.judge(door, request.headers, known) or Stranger(problem or "refused")


@dataclass(slots=True)
class Webhooks:
    """Answers Twilio's HTTP requests."""

    settings: TwilioSettings
    answer: CallTaker
    default_agent: str
    gate: Gate
    tickets: Tickets
    clock: Callable[[], float]
    stream_path: str = STREAM_PATH
    draw: Callable[[], str] = lambda: secrets.token_urlsafe(32)

    def routes(self) -> list[Route]:
        """Return the routes to mount at the root of the application."""
        return [
            Route(VOICE_PATH, self.voice, methods=["POST", "GET"]),
            Route(VOICE_PATH + "/{agent}", self.voice, methods=["POST", "GET"]),
            Route(STATUS_PATH, self.status, methods=["POST"]),
        ]

    async def voice(self, request: Request) -> Response:
        """Return what is to become of a call that comes in."""
        form = await self._form(request, VOICE)
        if isinstance(form, Response):
            return form
        call_sid = form.get("CallSid", "")
        if not call_sid:
            self._missed(request, "offer", "CallSid is missing", 400)
            return PlainTextResponse("CallSid is missing", 400)
        if self.settings.account_sid not in ("", form.get("AccountSid", "")):
            self._missed(request, "account", "another account", 403, form)
            return PlainTextResponse("another account", 403)
        direction, caller, ours = _parties(form)
        agent = self._agent(request, ours)
        refusal = self.answer.admit(agent)
        if refusal is not None:
            said, cause = refusal.text or None, refusal.cause or refusal.kind
            self._missed(request, cause, said, 200, form, agent)
            shown = twiml.shown_number(caller, ours, self.settings)
            return _xml(twiml.refuse(refusal, self.settings, shown))
        token, free = self.draw(), self.answer.take()
        asyncio.get_running_loop().call_later(self.settings.token_seconds, free)
        ticket = Ticket(call_sid, agent, caller, ours, direction, free)
        self.tickets.issue(token, ticket, self.clock())
        stream, status = self._own_urls(request)
        log.info("call_offered", call_id=call_sid, agent=agent)
        return _xml(twiml.connect(stream, token, status))

    async def status(self, request: Request) -> Response:
        """Take what Twilio reports of a stream."""
        form = await self._form(request, STATUS_REPORT)
        if isinstance(form, Response):
            return form
        if form.get("StreamEvent") == "stream-error":
            log.warning(
                "stream_error", call_id=form.get("CallSid", ""), reason=form.get("StreamError", "")
            )
        return Response(status_code=204)

    def _agent(self, request: Request, ours: str) -> str:
        """Choose who answers: by the path, the query, our number in the call, or by default."""
        wanted: str = request.path_params.get("agent", "") or request.query_params.get("agent", "")
        return wanted or self.settings.numbers.get(ours, "") or self.default_agent

    def _missed(
        self,
        request: Request,
        cause: str,
        said: str | None,
        code: int,
        form: Mapping[str, str] = MappingProxyType({}),
        agent: str | None = None,
    ) -> None:
        """Write down a call that is not taken."""
        direction, caller, ours = _parties(form)
        missed = CallRefusedLogged(
            line="twilio",
            direction=direction,
            cause=cause,
            said=said,
            agent=agent,
            caller=caller or None,
            callee=ours or None,
            host=request.client.host if request.client else None,
            known_as=form.get("CallSid"),
            code=code,
        )
        self.answer.missed(missed)

    async def _form(self, request: Request, door: Door) -> dict[str, str] | Response:
        """Read and check a posted form; a response where it is not Twilio's."""
        body = await _body(request)
        if body is None:
            self._turned_away(request, door, "body too big", 413)
            return PlainTextResponse("too big", 413)
        query = request.url.query
        asks = request.method == "GET"  # a number set to HTTP GET: what it says is in the query
        try:
            said = query if asks else body.decode()
            pairs = parse_qsl(said, keep_blank_values=True, max_num_fields=500)
        except ValueError:
            self._turned_away(request, door, "no form", 400)
            return PlainTextResponse("no form", 400)
        asked = signature.Request(
            # The raw path, since Twilio signed the URL as it was written.
            request.scope.get("raw_path", b"").decode("latin-1") + (f"?{query}" if query else ""),
            request.headers,
            () if asks else pairs,
            body,
        )
        who = self.gate.judge(door, asked)
        if isinstance(who, Stranger):
            self._turned_away(request, door, who.why, 403)
            return PlainTextResponse("forbidden", 403)
        return dict(pairs)

    def _turned_away(self, request: Request, door: Door, why: str, code: int) -> None:
        """Write down a request that is none of Twilio's."""
        if door is VOICE:
            self._missed(request, "signature" if code == 403 else "offer", why, code)
        else:
            log.info("webhook_refused", reason=why)

    def _own_urls(self, request: Request) -> tuple[str, str]:
        """Return the addresses of media socket and status report, as Twilio sees them."""
        if self.settings.public_url:
            base = urlsplit(self.settings.public_url)
            secure, place = base.scheme == "https", base.netloc + base.path.rstrip("/")
        else:
            headers = request.headers
            place = headers.get("x-forwarded-host", "") or headers.get("host", "")
            scheme = headers.get("x-forwarded-proto", "") or request.url.scheme
            # Twilio takes nothing but `wss`; without TLS only somebody on this machine calls.
            secure = scheme in ("https", "wss") or not names_this_machine(place)
        web, socket = ("https", "wss") if secure else ("http", "ws")
        return f"{socket}://{place}{self.stream_path}", f"{web}://{place}{STATUS_PATH}"


def stream_path(seat: Seat) -> str:
    """Return the path of the streams whose tickets this process gives out.

    Twilio takes no query here, and what else it is told stands in the stream's first message.
    """
    return STREAM_PATH if seat.of == 1 else f"{STREAM_PATH}/{seat.draw()}"


def _parties(form: Mapping[str, str]) -> tuple[Literal["inbound", "outbound"], str, str]:
    """Return the direction, who is at the far end, and our own number."""
    theirs, ours = form.get("From", ""), form.get("To", "")
    if form.get("Direction", "").startswith("outbound"):
        return "outbound", ours, theirs
    return "inbound", theirs, ours


async def _body(request: Request) -> bytes | None:
    """Read a request's body; None if it is too big."""
    parts = bytearray()
    async for part in request.stream():
        parts += part
        if len(parts) > BODY_MOST:
            return None
    return bytes(parts)


def _xml(document: str) -> Response:
    return Response(document, media_type="application/xml")
