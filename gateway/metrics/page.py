"""`/metrics`, as Prometheus reads it.

The loop gives its own figures, plain numbers; the rest is looked at and all of it written in a
thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from gateway.doors import table
from gateway.doors.judgement import Doors
from gateway.metrics.families import Family
from gateway.metrics.series import Labels, Registry

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Gauges = Mapping[Family, Mapping[Labels, float]]

Look = Callable[[], Awaitable[Callable[[], Gauges]]]
"""Takes what is the loop's own at once, and gives what looks at the rest in a thread."""


Text = Callable[[], Awaitable[bytes]]
"""Gives the page."""


def text(registry: Registry, look: Look) -> Text:
    """Make what gives the page of this process."""

    async def give() -> bytes:
        rest = await look()
        return await asyncio.to_thread(lambda: registry.render(rest()).encode())

    return give


def routes(give: Text, doors: Doors) -> list[BaseRoute]:
    """Return the route for scrapers."""

    async def metrics(request: Request) -> Response:
        if doors.judge(table.METRICS, request.headers) is None:
            said = doors.refusal(table.METRICS, request.headers)
            return JSONResponse({"error": said}, 403 if said == "foreign page" else 401)
        return Response(await give(), media_type=CONTENT_TYPE)

    return [Route(table.METRICS.path, metrics)]
