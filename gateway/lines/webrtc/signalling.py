"""The HTTP side of the WebRTC line: WHIP-shaped (RFC 9725), with an answer that also sends.

How it differs from RFC 9725 is said in docs/webrtc.md.
"""

from __future__ import annotations

import time
from dataclasses import replace

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gateway.doors import table
from gateway.doors.judgement import Doors, bearer_of
from gateway.lines.webrtc.access import STATUS, Admitted, Caller, Denied
from gateway.lines.webrtc.calls import PageCalls
from gateway.lines.webrtc.ice import Hosts, offered
from gateway.lines.webrtc.offer import (
    OFFER_MOST,
    Agreed,
    Fragment,
    UnacceptableError,
    read_fragment,
    read_offer,
    write_fragment,
)
from gateway.lines.webrtc.refusals import denied, problem, refused
from gateway.lines.webrtc.relay import IceServer, ice_servers
from gateway.lines.webrtc.session import HUNG_UP, PageSession
from gateway.lines.webrtc.tokens import read_grant
from gateway.log_events import CallRefusedLogged
from gateway.ports import Refusal

SDP = "application/sdp"
FRAGMENT = "application/trickle-ice-sdpfrag"

METHODS = "POST, PATCH, DELETE, GET, OPTIONS"
HEADERS = "Authorization, Content-Type, If-Match"
EXPOSED = "Location, ETag, Link, Retry-After"

PREFLIGHT_SECONDS = 600

log = structlog.get_logger("webrtc")


class Signalling:
    """Answers the pages' HTTP requests."""

    def __init__(self, calls: PageCalls, doors: Doors) -> None:
        self._calls = calls
        self._doors = doors

    def routes(self) -> list[Route]:
        """Return the routes to mount at the root of the application."""
        return [
            Route("/webrtc/tokens", self.tokens, methods=["POST"]),
            Route("/webrtc/{agent}", self.agent, methods=["POST", "GET", "OPTIONS"]),
            Route("/webrtc/{agent}/ice", self.ice, methods=["GET", "OPTIONS"]),
            Route(
                "/webrtc/{agent}/{session}",
                self.session,
                methods=["PATCH", "DELETE", "GET", "OPTIONS"],
            ),
        ]

    # --- a page's requests ---------------------------------------------------------------------

    async def agent(self, request: Request) -> Response:
        """Take an offer."""
        caller = self._caller(request)
        match request.method:
            case "OPTIONS":
                return self._preflight(caller, {"Accept-Post": SDP})
            case "POST":
                response = await self._offer(request, caller)
            case _:
                response = Response(status_code=204)
        return self._shared(caller, response)

    async def ice(self, request: Request) -> Response:
        """Tell a page that may call which STUN and TURN servers to use."""
        caller = self._caller(request)
        if request.method == "OPTIONS":
            return self._preflight(caller)
        agent = self._calls.agent(request.path_params["agent"])
        access = self._calls.access
        looked = access.look(caller, agent, self._calls.now(), time.time())
        if isinstance(looked, Denied):
            return self._shared(caller, denied(looked))
        servers = [one.document() for one in self._servers("page")]
        headers = {"Cache-Control": "no-store"}
        return self._shared(caller, JSONResponse({"iceServers": servers}, headers=headers))

    async def session(self, request: Request) -> Response:
        """End a call, or begin its ICE anew."""
        caller = self._caller(request)
        if request.method == "OPTIONS":
            return self._preflight(caller, {"Accept-Patch": FRAGMENT})
        session = self._calls.sessions.get(request.path_params["session"])
        # Who knows a call's address placed it, and may be a page that had a token for itself alone.
        placed = session is not None and session.info.variables.get("origin", "") == caller.origin
        if not placed and not self._calls.access.page(caller):
            return denied(Denied("origin_refused"))
        if session is None:
            response = problem(404, "gone", "There is no such call, or it is over.")
        elif request.method == "DELETE":
            session.end(HUNG_UP)
            response = Response(status_code=200)
        elif request.method == "PATCH":
            response = await self._patch(request, session)
        else:
            response = Response(status_code=204)
        return self._shared(caller, response)

    async def _offer(self, request: Request, caller: Caller) -> Response:
        agent = self._calls.agent(request.path_params["agent"])
        if not self._calls.access.page(caller):
            self._missed(caller, agent, "origin_refused", 403)
            return denied(Denied("origin_refused"))
        agreed = await self._agreed(request)
        if isinstance(agreed, Response):
            self._missed(caller, agent, "offer", agreed.status_code)
            return agreed
        # The cheap questions first; nothing is used up by a call that cannot be.
        refusal = self._calls.busy(agent)
        if refusal is not None:
            response = refused(refusal)
            cause = refusal.cause or refusal.kind
            self._missed(caller, agent, cause, response.status_code, refusal.text)
            return response
        admitted = self._calls.admit(caller, agent)
        if isinstance(admitted, Denied):
            self._missed(caller, agent, admitted.kind, STATUS[admitted.kind])
            return denied(admitted)
        return await self._answer(request, caller, agreed, admitted)

    def _missed(
        self, caller: Caller, agent: str, cause: str, code: int, said: str | None = None
    ) -> None:
        """Write down a call that is not taken."""
        missed = CallRefusedLogged(
            line="webrtc",
            direction="inbound",
            cause=cause,
            said=said or None,
            agent=agent,
            caller=caller.origin or None,
            host=caller.address or None,
            code=code,
        )
        self._calls.missed(missed)

    async def _answer(
        self, request: Request, caller: Caller, agreed: Agreed, admitted: Admitted
    ) -> Response:
        agent = request.path_params["agent"]
        try:
            opened = await self._calls.open(admitted, agreed, caller.origin, self._hosts(request))
        except OSError as error:
            log.warning("no_port", reason=str(error))
            self._missed(caller, self._calls.agent(agent), "ports", 503, str(error))
            return refused(Refusal("busy", 5, "All lines are busy.", "ports"))
        response = Response(opened.answer, 201, media_type=SDP)
        response.headers["Location"] = f"/webrtc/{agent}/{opened.name}"
        response.headers["ETag"] = _etag(opened.session)
        response.headers["Cache-Control"] = "no-store"
        for server in self._servers(opened.session.info.call_id):
            response.headers.append("Link", server.link())
        return response

    async def _agreed(self, request: Request) -> Agreed | Response:
        if _media_type(request) != SDP:
            return problem(415, "unsupported", f"An offer is {SDP}.")
        body = await _body(request)
        if body is None:
            return problem(413, "too_big", f"An offer has at most {OFFER_MOST} bytes.")
        try:
            return read_offer(body, self._calls.settings.codecs)
        except UnacceptableError as error:
            return problem(422, "unacceptable", str(error))
        except ValueError as error:
            return problem(400, "malformed", str(error))

    async def _patch(self, request: Request, session: PageSession) -> Response:
        if _media_type(request) != FRAGMENT:
            return problem(415, "unsupported", f"A change is {FRAGMENT}.")
        body = await _body(request)
        if body is None:
            return problem(413, "too_big", f"A change has at most {OFFER_MOST} bytes.")
        try:
            fragment = read_fragment(body)
        except ValueError as error:
            return problem(400, "malformed", str(error))
        wanted = request.headers.get("if-match", "")
        if not wanted:
            return problem(428, "no_etag", "If-Match is missing.")
        if wanted == "*":
            return await self._anew(session, fragment)
        if wanted != _etag(session):
            return problem(412, "stale", "ICE has begun anew since.")
        await session.learn(fragment)
        return Response(status_code=204)

    async def _anew(self, session: PageSession, fragment: Fragment) -> Response:
        try:
            ice = await session.restart(fragment)
        except OSError as error:
            log.warning("no_port", reason=str(error))
            return refused(Refusal("busy", 5, "All lines are busy.", "ports"))
        if ice is None:
            return problem(404, "gone", "The call is over.")
        headers = {"ETag": _etag(session), "Cache-Control": "no-store"}
        return Response(write_fragment("0", ice), 200, headers, FRAGMENT)

    # --- the site's own server -------------------------------------------------------------------

    async def tokens(self, request: Request) -> Response:
        """Return a pass to whoever shows the key."""
        access = self._calls.access
        if self._doors.judge(table.TOKENS, request.headers) is None:
            if not access.settings.api_key:
                return problem(404, "no_tokens", "PARLEY_API_KEY is not set: no tokens are given.")
            return problem(401, "wrong_key", "The key is missing or wrong.", "Bearer")
        body = await _body(request)
        try:
            grant = read_grant(body or b"")
        except ValueError as error:
            return problem(400, "malformed", str(error))
        grant = replace(grant, agent=self._calls.agent(grant.agent))
        if not self._calls.knows(grant.agent):
            return problem(400, "unknown_agent", f"There is no agent named {grant.agent!r}.")
        token, life = access.passes.write(grant, time.time())
        headers = {"Cache-Control": "no-store"}
        return JSONResponse({"token": token, "expires_in": round(life)}, 201, headers)

    # --- parts -----------------------------------------------------------------------------------

    def _caller(self, request: Request) -> Caller:
        headers = request.headers
        return Caller(
            headers.get("origin", "").rstrip("/"),
            request.client.host if request.client else "",
            self._doors.is_owner(headers),
            bearer_of(headers),
        )

    def _servers(self, name: str) -> list[IceServer]:
        return ice_servers(self._calls.settings, name, time.time())

    def _hosts(self, request: Request) -> Hosts:
        """Return the configured addresses, or the one that the request came to."""
        if configured := self._calls.settings.hosts():
            return configured
        host = str((request.scope.get("server") or ("127.0.0.1", 0))[0])
        return tuple((one, one) for one in offered(host))

    def _preflight(self, caller: Caller, headers: dict[str, str] | None = None) -> Response:
        response = Response(status_code=204, headers=headers)
        if caller.origin and self._calls.access.page(caller):
            response.headers["Access-Control-Allow-Methods"] = METHODS
            response.headers["Access-Control-Allow-Headers"] = HEADERS
            response.headers["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)
        return self._shared(caller, response)

    def _shared(self, caller: Caller, response: Response) -> Response:
        """Let a page that may call read the response."""
        response.headers["Vary"] = "Origin"
        if caller.origin and self._calls.access.page(caller):
            response.headers["Access-Control-Allow-Origin"] = caller.origin
            response.headers["Access-Control-Expose-Headers"] = EXPOSED
        return response


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _body(request: Request) -> bytes | None:
    """Read a request's body; None if it is too big."""
    parts = bytearray()
    async for part in request.stream():
        parts += part
        if len(parts) > OFFER_MOST:
            return None
    return bytes(parts)


def _etag(session: PageSession) -> str:
    return f'"{session.restarts}"'
