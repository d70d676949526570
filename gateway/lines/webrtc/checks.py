"""Looks at what calls from web pages would need, and says what will happen."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator

from gateway.lines.port import Said
from gateway.lines.webrtc.ice import outward
from gateway.lines.webrtc.settings import WebrtcSettings


def look(settings: WebrtcSettings, host: str) -> Iterator[Said]:
    """Return how each part is; `host` is where the gateway listens for HTTP."""
    if problem := settings.problem():
        yield "wrong", problem
        return
    yield _callers(settings)
    yield from _addresses(settings, host)
    if settings.ice:
        yield "good", f"pages are told of {', '.join(settings.ice)}"


def _callers(settings: WebrtcSettings) -> Said:
    pages = ", ".join(settings.origins)
    if settings.public:
        if not settings.origins:
            return "note", "webrtc.public is true, but no page may call (webrtc.origins)"
        return "note", f"anybody on {pages} may call without a token (webrtc.public)"
    if settings.api_key and settings.origins:
        return "good", f"pages of {pages} may call with a token of their own server"
    if settings.api_key:
        return "note", "tokens are given out, but no page may call (webrtc.origins)"
    return "good", "this machine's owner alone may call (neither PARLEY_API_KEY nor webrtc.public)"


def _addresses(settings: WebrtcSettings, host: str) -> Iterator[Said]:
    if not settings.addresses:
        here = ipaddress.ip_address(host).is_loopback if _is_address(host) else False
        said = "browsers are offered the address that their request came to"
        if here:
            also = outward(4)
            said += f", and {also}, since Firefox needs one that is not loopback" if also else ""
            yield "good", f"{said}: this machine alone (webrtc.addresses is not set)"
        else:
            yield "note", f"{said}; behind a proxy, set webrtc.addresses"
        return
    for public, local in settings.hosts():
        try:
            family = socket.AF_INET6 if ":" in local else socket.AF_INET
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.bind((local, 0))
        except OSError as error:
            said = f"{local} cannot be bound: {error.strerror or error} (webrtc.addresses)"
            yield "wrong", said
        else:
            yield (
                "good",
                f"browsers are offered {public}"
                + (f", bound at {local}" if local != public else ""),
            )


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
