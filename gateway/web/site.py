"""What the page says of this gateway: made of its settings and of the calls in progress."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from gateway.call.switchboard import Switchboard
from gateway.config import Settings
from gateway.doors.judgement import Doors
from gateway.observe.journal import timestamp
from gateway.web.feed import Feed
from gateway.web.pages import LineStatus, Pages, Status


def site(
    settings: Settings,
    switchboard: Switchboard,
    agents: Callable[[], tuple[str, ...]],
    doors: Doors,
) -> Pages:
    """Make the pages of a gateway."""

    def status() -> Status:
        calls = Counter(call.leg.info.line for call in switchboard.calls)
        return Status(
            _lines(settings, calls),
            agents(),
            settings.agents.default,
            calls.total(),
            switchboard.begun,
            switchboard.refused,
        )

    path = settings.log.path
    feed = Feed(None if path == "-" else Path(path), timestamp(time.time()))
    return Pages(settings.web, feed, status, doors)


def _lines(settings: Settings, calls: Counter[str]) -> tuple[LineStatus, ...]:
    return (
        _webrtc(settings, calls["webrtc"]),
        _twilio(settings, calls["twilio"]),
        _sip(settings, calls["sip"]),
    )


def _webrtc(settings: Settings, calls: int) -> LineStatus:
    webrtc = settings.webrtc
    if not webrtc.enabled:
        return LineStatus("webrtc", "off", "webrtc.enabled is false")
    if problem := webrtc.problem():
        return LineStatus("webrtc", "note", problem, calls)
    if webrtc.public:
        return LineStatus("webrtc", "ready", "open to everybody", calls)
    if webrtc.api_key:
        return LineStatus("webrtc", "ready", "with tokens", calls)
    return LineStatus("webrtc", "ready", "the owner only", calls)


def _twilio(settings: Settings, calls: int) -> LineStatus:
    if not settings.twilio.require_signature:
        return LineStatus("twilio", "note", "open to everybody", calls)
    if not settings.twilio.signed:
        return LineStatus("twilio", "ready", "the owner only", calls)
    return LineStatus("twilio", "ready", "signed webhooks", calls)


def _sip(settings: Settings, calls: int) -> LineStatus:
    sip = settings.sip
    if not sip.enabled:
        return LineStatus("sip", "off", "sip.enabled is false")
    ports = [
        f"{name} {port}"
        for name, port in (("UDP", sip.udp), ("TCP", sip.tcp), ("TLS", sip.tls))
        if port is not None
    ]
    return LineStatus("sip", "ready", ", ".join(ports), calls)
