"""What pages are told that may not do what they asked for: problem documents (RFC 9457)."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from gateway.lines.webrtc.access import STATUS, WORDS, Denied
from gateway.ports import Refusal

PROBLEM = "application/problem+json"

REFUSED = {"busy": 503, "draining": 503, "unknown_agent": 404, "forbidden": 403}


def problem(status: int, kind: str, text: str, challenge: str = "") -> Response:
    """Return what is wrong, for programs and people (RFC 9457)."""
    document = {"title": text, "status": status, "kind": kind}
    headers = {"WWW-Authenticate": challenge} if challenge else None
    return JSONResponse(document, status, headers, PROBLEM)


def denied(why: Denied) -> Response:
    """Tell a page why it may not call."""
    status = STATUS[why.kind]
    document: dict[str, object] = {
        "title": WORDS[why.kind],
        "status": status,
        "kind": why.kind,
    }
    headers: dict[str, str] = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if why.retry_after:
        headers["Retry-After"] = str(why.retry_after)
        document["retry_after"] = why.retry_after
    return JSONResponse(document, status, headers, PROBLEM)


def refused(refusal: Refusal) -> Response:
    """Tell a page why there can be no call now."""
    status = REFUSED[refusal.kind]
    document: dict[str, object] = {
        "title": refusal.text or refusal.kind,
        "status": status,
        "kind": refusal.kind,
    }
    if refusal.cause:
        document["cause"] = refusal.cause
    headers: dict[str, str] = {}
    if refusal.retry_after:
        headers["Retry-After"] = str(refusal.retry_after)
        document["retry_after"] = refusal.retry_after
    return JSONResponse(document, status, headers, PROBLEM)
