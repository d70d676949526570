"""The line of calls from web pages as the gateway knows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gateway.doors.table import Who
from gateway.lines.port import Line, LineKind, LineNeeds, Place, Said
from gateway.lines.webrtc.settings import WebrtcSettings


def _make(settings: WebrtcSettings, needs: LineNeeds) -> Line:
    from gateway.lines.webrtc.line import WebrtcLine

    return WebrtcLine(settings, needs.answer, needs.agent, needs.doors)


def _look(settings: WebrtcSettings, place: Place) -> Iterator[Said]:
    from gateway.lines.webrtc.checks import look

    return look(settings, place.host)


def _off(settings: WebrtcSettings) -> str:
    return "" if settings.enabled else "webrtc.enabled is false"


def _rates(settings: WebrtcSettings) -> tuple[int, ...]:
    return (settings.rate,)


def _keys(settings: WebrtcSettings) -> Mapping[Who, str]:
    return {"site_key": settings.api_key}


WEBRTC = LineKind(WebrtcSettings, _make, _look, _off, _keys, rates=_rates)
