"""The HTTP call that places a call: `POST /sip/calls`, answered by one JSON line for each event."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from gateway.doors import table
from gateway.doors.judgement import Doors
from gateway.lines.sip.dialing import DialOrder, DialOutcome
from gateway.lines.sip.dialler import Dialler
from gateway.lines.sip.toll import By
from gateway.plumbing.wire_json import decode, refuse_unknown

JSON = "application/json"

LARGEST = 16_384
"""Bytes of a request: a number, an agent and some variables."""

log = structlog.get_logger("sip")


@dataclass(frozen=True, slots=True)
class Asked:
    """The body of the request."""

    to: str
    "a number or a SIP URI"
    agent: str = ""
    trunk: str = ""
    caller_id: str = ""
    display_name: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


_ASKED = msgspec.json.Decoder(Asked)


def routes(dialler: Dialler, doors: Doors) -> list[BaseRoute]:
    """Make the route."""

    async def place(request: Request) -> Response:
        who = doors.judge(table.SIP_CALLS, request.headers)
        if who is None:
            return _refused(request, doors)
        if request.headers.get("content-type", "").partition(";")[0].strip() != JSON:
            return JSONResponse({"error": f"an order is {JSON}"}, status_code=415)
        body = await request.body()
        try:
            if len(body) > LARGEST:
                raise ValueError("the request is too large")
            refuse_unknown(body, Asked.__slots__)
            asked = decode(_ASKED, body)
            order = DialOrder(
                asked.to, asked.agent, asked.trunk, asked.caller_id, asked.display_name,
                asked.variables, asked.headers,
            )  # fmt: skip
            dialler.route(order)
        except ValueError as error:
            return JSONResponse({"error": str(error)}, status_code=400)
        by: By = "owner" if who == "owner" else "key"
        problem = dialler.toll.problem(order.target, by, asyncio.get_running_loop().time())
        if problem is not None:
            log.warning("dial_refused", host=_host(request), by=by, why=problem)
            return JSONResponse({"error": problem}, status_code=403)
        return StreamingResponse(_lines(dialler, order), media_type="application/x-ndjson")

    return [Route("/sip/calls", place, methods=["POST"])]


def _refused(request: Request, doors: Doors) -> Response:
    """Tell who may place no calls, and write it down: somebody may be trying."""
    why = doors.refusal(table.SIP_CALLS, request.headers)
    log.warning("dial_refused", host=_host(request), why=why)
    said = {"error": f"{why}: SIP_API_KEY or the owner's token is needed, as a bearer token"}
    if why == "foreign page":
        return JSONResponse(said, status_code=403)
    return JSONResponse(said, status_code=401, headers={"WWW-Authenticate": "Bearer"})


def _host(request: Request) -> str:
    return request.client.host if request.client else ""


async def _lines(dialler: Dialler, order: DialOrder) -> AsyncIterator[bytes]:
    """Tell what happens; who stops listening before the answer cancels the call."""
    events: asyncio.Queue[dict[str, object] | DialOutcome] = asyncio.Queue(64)

    def told(event: dict[str, object] | DialOutcome) -> None:
        if not events.full():
            events.put_nowait(event)

    give_up = dialler.place(order, lambda name, code: told({"event": name, "code": code}), told)
    try:
        while True:
            event = await events.get()
            if isinstance(event, DialOutcome):
                yield msgspec.json.encode({"event": "outcome", **_told(event)}) + b"\n"
                return
            yield msgspec.json.encode(event) + b"\n"
    finally:
        give_up()


def _told(outcome: DialOutcome) -> dict[str, object]:
    return {
        "outcome": outcome.outcome,
        "call_id": outcome.call_id,
        "code": outcome.code,
        "reason": outcome.reason,
        "early_media": outcome.early_media,
    }
