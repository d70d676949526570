"""What the gateway says of itself to whoever watches it: `/healthz` and `/readyz`."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from gateway.doors.judgement import Doors
from gateway.process.standing import Watch

RETRY_AFTER = 5
"""Seconds to wait where all that is known is that the gateway goes down."""


def routes(watch: Watch, doors: Doors) -> list[BaseRoute]:
    """Return the routes for supervisors and load balancers; figures are the owner's alone.

    A process that is not well is alive all the same: one that is ended for a full disk would take
    its calls along. Whether new calls may come is what `/readyz` says; `/readyz?for=drain` says
    whether the gateway stays, for whoever takes a full one for what it is.
    """
    board = watch.fleet.board

    async def health(request: Request) -> Response:
        await watch.judged()
        said: dict[str, object] = {"alive": True, "well": board.well()}
        if doors.is_owner(request.headers):
            said |= board.figures()
        return JSONResponse(said)

    async def ready(request: Request) -> Response:
        watch.stand()
        refusal = board.refusal()
        if request.query_params.get("for") == "drain":
            refusal = ("draining", "", RETRY_AFTER) if board.draining() else None
        if refusal is None:
            return JSONResponse({"ready": True})
        kind, cause, retry_after = refusal
        return JSONResponse(
            {"ready": False, "reason": kind, "cause": cause},
            status_code=503,
            headers={"Retry-After": str(retry_after)},
        )

    return [Route("/healthz", health), Route("/readyz", ready)]
