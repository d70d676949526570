"""What the process says of itself to whoever watches it: `/healthz` and `/readyz`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from gateway.call.pacer import Pacer
from gateway.call.switchboard import Switchboard
from gateway.doors.judgement import Doors
from gateway.observe.journal import Journal
from gateway.process.judging import Judge
from gateway.process.threads import processor_seconds
from gateway.process.watchdog import Watchdog


@dataclass(frozen=True, slots=True)
class Watch:
    """Whom the routes ask."""

    switchboard: Switchboard
    pacer: Pacer
    judge: Judge
    journal: Journal
    watchdog: Watchdog


def routes(watch: Watch, doors: Doors) -> list[BaseRoute]:
    """Give the routes for supervisors and load balancers; figures are the owner's alone.

    A process that is not well is alive all the same: one that is ended for a full disk would take
    its calls along. Whether new calls may come is what `/readyz` says.
    """

    async def health(request: Request) -> Response:
        judged = await watch.judge.judge()
        said: dict[str, object] = {"alive": True, "well": all(one.well for one in judged.values())}
        if doors.is_owner(request.headers):
            said |= {"parts": msgspec.to_builtins(judged), **_figures(watch)}
        return JSONResponse(said)

    async def ready(_request: Request) -> Response:
        refusal = watch.switchboard.would_refuse()
        if refusal is None:
            return JSONResponse({"ready": True})
        return JSONResponse(
            {"ready": False, "reason": refusal.kind, "cause": refusal.cause},
            status_code=503,
            headers={"Retry-After": str(refusal.retry_after)},
        )

    return [Route("/healthz", health), Route("/readyz", ready)]


def _figures(watch: Watch) -> dict[str, object]:
    late = watch.pacer.lateness
    return {
        "calls": len(watch.switchboard.calls),
        "begun": watch.switchboard.begun,
        "refused": sum(watch.switchboard.refused.values()),
        "refused_by_cause": dict(watch.switchboard.refused),
        "ended": dict(watch.journal.tally.ended),
        "faults": dict(watch.journal.tally.faults),
        "ticks": late.ticks,
        "late_ticks": late.over_5_ms,
        "latest_tick": round(late.worst, 4),
        "loop": watch.watchdog.figures(),
        "tasks": len(asyncio.all_tasks()),
        "threads": processor_seconds(),
    }
