"""The line of calls from web pages as the gateway knows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gateway.doors.judgement import bearer_of
from gateway.doors.table import Who
from gateway.lines.port import (
    ForFirst,
    ForName,
    ForNewCall,
    Line,
    LineKind,
    LineNeeds,
    Meant,
    Place,
    Said,
)
from gateway.lines.webrtc.pass_names import name_of
from gateway.lines.webrtc.settings import WebrtcSettings


def _make(settings: WebrtcSettings, needs: LineNeeds) -> Line:
    from gateway.lines.webrtc.line import WebrtcLine

    return WebrtcLine(settings, needs.answer, needs.agent, needs.doors, needs.seat)


def _look(settings: WebrtcSettings, place: Place) -> Iterator[Said]:
    from gateway.lines.webrtc.checks import look

    return look(settings, place.host)


def _off(settings: WebrtcSettings) -> str:
    return "" if settings.enabled else "webrtc.enabled is false"


def _rates(settings: WebrtcSettings) -> tuple[int, ...]:
    return (settings.rate,)


def _keys(settings: WebrtcSettings) -> Mapping[Who, str]:
    return {"site_key": settings.api_key}


def _meant(method: str, path: str, headers: Mapping[str, str]) -> Meant | None:
    """A call is its session's; an offer goes where its pass is known to have been used or not.

    Those without a pass are counted in one place, so that the limits hold for all processes.
    """
    match path.split("/"):
        case ["", "webrtc", _, session] if session != "ice":
            return ForName(session)
        case ["", "webrtc", agent] if agent != "tokens" and method == "POST":
            shown = bearer_of(headers)
            if not shown:
                return ForFirst()
            name = name_of(shown)
            return ForNewCall() if name is None else ForName(name)
        case _:
            return None


WEBRTC = LineKind(WebrtcSettings, _make, _look, _off, _keys, rates=_rates, meant=_meant)
