"""Where the session description is in a body, which may have several parts (RFC 5621)."""

from __future__ import annotations

from gateway.lines.sip.message.address import split_quoted, unquote
from gateway.lines.sip.message.message import Message, content_type

MAX_PARTS = 16


def sdp_of(message: Message) -> bytes:
    """Return the session description of a message, b"" when it has none."""
    kind = content_type(message)
    if kind in ("application/sdp", ""):
        return message.body
    if kind.startswith("multipart/"):
        for part_kind, part in parts_of(message):
            if part_kind == "application/sdp":
                return part
    return b""


def parts_of(message: Message) -> list[tuple[str, bytes]]:
    """Return type and content of each part of a multipart body."""
    boundary = ""
    try:
        for parameter in split_quoted(message.headers.get("Content-Type") or "", ";")[1:]:
            name, _, value = parameter.partition("=")
            if name.strip().lower() == "boundary":
                boundary = unquote(value.strip())
    except ValueError:
        return []
    if not boundary or len(boundary) > 70:  # RFC 2046, section 5.1.1
        return []
    found: list[tuple[str, bytes]] = []
    for chunk in (b"\r\n" + message.body).split(b"\r\n--" + boundary.encode())[1:MAX_PARTS]:
        if chunk.startswith(b"--"):
            break
        head, _, content = chunk.partition(b"\r\n\r\n")
        found.append((_kind(head), content))
    return found


def _kind(head: bytes) -> str:
    for line in head.decode("ascii", "replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip().lower() in ("content-type", "c"):
            return value.partition(";")[0].strip().lower()
    return "text/plain"


def unreadable(message: Message) -> bool:
    """Whether a body is there that must be understood and is not (RFC 3261, section 8.2.3)."""
    if not message.body.strip():
        return False
    kind = content_type(message)
    disposition = (message.headers.get("Content-Disposition") or "").lower()
    if "handling=optional" in disposition.replace(" ", ""):
        return False
    if kind.startswith("multipart/"):
        return not any(part_kind == "application/sdp" for part_kind, _ in parts_of(message))
    return kind not in ("application/sdp", "")
