"""What a request from outside has to be before anybody else looks at it (RFC 3261, section 8.2)."""

from __future__ import annotations

from collections.abc import Callable

from gateway.lines.sip.dialogs.vocabulary import CallSettings
from gateway.lines.sip.message.address import parse_uri, uri_headers
from gateway.lines.sip.message.message import Request, Response, reply, tokens
from gateway.lines.sip.message.multipart import unreadable

KNOWN_METHODS = ("REGISTER", "SUBSCRIBE", "PUBLISH", "MESSAGE")
"""Known, and not for us: 405. What nobody knows is 501 (RFC 3261, section 21.5.2)."""


def inspect(request: Request, settings: CallSettings, ids: Callable[[], str]) -> Response | None:
    """Inspect method, URI, extensions and body, in the order of RFC 3261, section 8.2."""
    if request.method not in settings.allow:
        code = 405 if request.method in KNOWN_METHODS else 501
        response = reply(request, code, ids())
        response.headers.set("Allow", ", ".join(settings.allow))
        return response
    scheme = request.uri.partition(":")[0].lower()
    if scheme not in ("sip", "sips", "tel"):
        return reply(request, 416, ids())
    try:
        parse_uri(request.uri)
        headers = uri_headers(request.uri)
    except ValueError:
        headers = [("", "")]
    if headers:
        # RFC 3261, section 19.1.1: a Request-URI has no headers.
        return reply(request, 400, ids())
    required = ",".join(request.headers.getlist("Require")).split(",")
    unknown = [
        name.strip()
        for name in required
        if name.strip() and name.strip().lower() not in settings.supported
    ]
    if unknown:
        response = reply(request, 420, ids())
        response.headers.set("Unsupported", ", ".join(unknown))
        return response
    return _inspect_body(request, ids) if request.method == "INVITE" else None


def _inspect_body(request: Request, ids: Callable[[], str]) -> Response | None:
    encodings = tokens(request, "Content-Encoding")
    if unreadable(request) or any(name != "identity" for name in encodings):
        response = reply(request, 415, ids())
        response.headers.set("Accept", "application/sdp")
        response.headers.set("Accept-Encoding", "identity")
        return response
    wanted = [kind.partition(";")[0].strip() for kind in tokens(request, "Accept")]
    if wanted and not {"application/sdp", "application/*", "*/*"} & set(wanted):
        return reply(request, 406, ids())
    return None
