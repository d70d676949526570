"""The SIP line as the gateway knows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from gateway.doors.table import Who
from gateway.lines.port import (
    ForNewCall,
    Front,
    FrontNeeds,
    Line,
    LineKind,
    LineNeeds,
    Meant,
    Place,
    Said,
)
from gateway.lines.sip.settings import SipSettings


def _make(settings: SipSettings, needs: LineNeeds) -> Line:
    from gateway.lines.sip.line import SipLine

    return SipLine(
        settings,
        needs.answer,
        needs.doors,
        default_agent=needs.agent,
        speak=needs.speak,
        wire=needs.wire,
        registers=needs.seat.first,
    )


def _front(settings: SipSettings, needs: FrontNeeds) -> Front:
    from gateway.lines.sip.front import SipFront

    return SipFront(settings, needs)


def _meant(method: str, path: str, _headers: Mapping[str, str]) -> Meant | None:
    return ForNewCall() if (method, path) == ("POST", "/sip/calls") else None


def _look(settings: SipSettings, _place: Place) -> Iterator[Said]:
    from gateway.lines.sip.checks import look

    return look(settings)


def _off(settings: SipSettings) -> str:
    return "" if settings.enabled else "sip.enabled is false"


def _keys(settings: SipSettings) -> Mapping[Who, str]:
    return {"sip_key": settings.api_key}


def _certificates(settings: SipSettings) -> Mapping[str, Path]:
    if settings.tls is None or settings.certificate is None:
        return {}
    return {"sip.certificate": settings.certificate}


SIP = LineKind(
    SipSettings,
    _make,
    _look,
    _off,
    _keys,
    certificates=_certificates,
    meant=_meant,
    front=_front,
)
