"""What a SIP message is: reading tolerantly what peers send, writing strictly what we send.

The pre-parse does what the library does not: it unfolds header lines, replaces bytes that are not
UTF-8, takes bare line feeds, caps the size and keeps the Request-URI as text, so that a request
with an unknown scheme or a missing header is answered (RFC 4475) and not dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sipmessage import CSeq
from sipmessage import Headers as LibraryHeaders
from sipmessage.message import COMPACT_FORMS

from gateway.lines.sip.message.address import (
    MAX_ITEMS,
    NameAddr,
    Via,
    parse_addresses,
    split_quoted,
)

MAX_BYTES = 65_535
"""One message, as large as a UDP datagram can be."""
MAX_HEADER_LINES = 256
MAX_CSEQ = 2**31
"""RFC 3261, section 8.1.1.5: the sequence number is below 2**31."""

_SINGLE = ("Call-ID", "CSeq", "From", "To", "Max-Forwards", "Content-Length", "Content-Type")
_NEEDED = ("Via", "From", "To", "Call-ID", "CSeq")
"""RFC 3261, section 8.1.1; Max-Forwards is not missed, as RFC 2543 does not know it."""
_METHOD = re.compile(r"[A-Za-z0-9\-.!%*_+`'~]+")
_VERSION = re.compile(r" SIP/2\.0\s*$", re.IGNORECASE)
_CANONICAL = {
    name.lower(): name
    for name in (
        "Allow", "Authorization", "CSeq", "Call-ID", "Contact", "Content-Length", "Content-Type",
        "Diversion", "Event", "Expires", "From", "Max-Forwards", "Min-Expires", "Min-SE",
        "P-Asserted-Identity", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Require",
        "RAck", "RSeq", "Reason", "Record-Route", "Refer-To", "Referred-By", "Replaces", "Require",
        "Retry-After", "Route", "Session-Expires", "Subscription-State", "Supported", "To",
        "Unsupported", "User-Agent", "Via", "WWW-Authenticate", "Warning",
    )
}  # fmt: skip


class Malformed(ValueError):
    """A message that breaks the grammar; `request` is there when it can still be answered."""

    def __init__(self, reason: str, code: int = 400, request: Request | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.request = request


class Headers(LibraryHeaders):
    """The library's headers, made comparable."""

    def names(self) -> list[str]:
        """Return the names, in the order of their first value."""
        return self.keys()

    def copy(self) -> Headers:
        """Return an independent copy."""
        copied = Headers()
        for name in self.names():
            copied.setlist(name, list(self.getlist(name)))
        return copied

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Headers):
            return NotImplemented
        return [(n, self.getlist(n)) for n in self.names()] == [
            (n, other.getlist(n)) for n in other.names()
        ]

    __hash__ = None  # type: ignore[assignment]


@dataclass(slots=True)
class Request:
    """A SIP request; headers hold raw text."""

    method: str
    uri: str
    headers: Headers = field(default_factory=Headers)
    body: bytes = b""

    def encode(self) -> bytes:
        """Return the wire form."""
        return _encode(f"{self.method} {self.uri} SIP/2.0", self.headers, self.body)

    def copy(self) -> Request:
        """Return an independent copy."""
        return Request(self.method, self.uri, self.headers.copy(), self.body)


@dataclass(slots=True)
class Response:
    """A SIP response; headers hold raw text."""

    code: int
    phrase: str
    headers: Headers = field(default_factory=Headers)
    body: bytes = b""

    def encode(self) -> bytes:
        """Return the wire form."""
        return _encode(f"SIP/2.0 {self.code} {self.phrase}", self.headers, self.body)


Message = Request | Response


def _encode(line: str, headers: Headers, body: bytes) -> bytes:
    lines = [line]
    for name in headers.names():
        if name != "Content-Length":
            lines += [f"{name}: {clean(value)}" for value in headers.getlist(name)]
    lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def clean(value: str) -> str:
    """Replace control characters, so that no value can begin a line of its own."""
    if value.isprintable():
        return value
    return "".join(char if char.isprintable() or char == "\t" else " " for char in value)


# --- reading -----------------------------------------------------------------------------------


def parse(data: bytes, *, stream: bool = False) -> Message:
    """Read one message; raises `Malformed`.

    `stream` says that the frame was cut by Content-Length already.
    """
    if len(data) > MAX_BYTES:
        raise Malformed("the message is too large", 513)
    head, body = _split_head(data)
    lines = _unfold(head.decode("utf-8", "replace"))
    if not lines or len(lines) > MAX_HEADER_LINES:
        raise Malformed("the message has no lines, or too many")
    message = _parse_start(lines[0])
    request = message if isinstance(message, Request) else None
    if request is not None and not _VERSION.search(lines[0]):
        _read_headers(lines[1:], message.headers)
        raise Malformed("this version of SIP is not spoken here", 505, request)
    faults = _read_headers(lines[1:], message.headers)
    try:
        message.body = _cut_body(message.headers, body, stream)
        _check(message)
    except ValueError as error:
        faults = faults or str(error)
    if faults:
        raise Malformed(faults, 400, request)
    if request is not None:
        _check_request(request)
    return message


def _split_head(data: bytes) -> tuple[bytes, bytes]:
    for blank in (b"\r\n\r\n", b"\n\n"):
        head, found, body = data.partition(blank)
        if found:
            return head, body
    return data.rstrip(b"\r\n"), b""


def _unfold(text: str) -> list[str]:
    """Join continuation lines (RFC 3261, section 7.3.1)."""
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").replace("\0", "\ufffd").split("\n"):
        if lines and line[:1] in (" ", "\t"):
            lines[-1] = f"{lines[-1].rstrip()} {line.strip()}"
        else:
            lines.append(line.replace("\r", " "))
    return lines


def _parse_start(line: str) -> Message:
    first, _, rest = line.partition(" ")
    if first.upper() == "SIP/2.0":
        code, _, phrase = rest.partition(" ")
        if not (code.isascii() and code.isdigit() and len(code) == 3 and 100 <= int(code) <= 699):
            raise Malformed("the status code is out of range")
        return Response(int(code), phrase)
    uri, _, version = rest.rpartition(" ")
    # RFC 4475, section 3.1.2.10: blanks at the end of the line are a fault, and harmless.
    if not version:
        uri, _, version = rest.rstrip().rpartition(" ")
    if not _METHOD.fullmatch(first) or not version.upper().startswith("SIP/"):
        raise Malformed("the first line is no request and no response")
    return Request(first, uri)


def _read_headers(lines: list[str], headers: Headers) -> str:
    """Fill `headers`; give the first fault, empty when there is none."""
    fault = ""
    for line in lines:
        name, colon, value = line.partition(":")
        name = name.strip()
        if not colon or not _METHOD.fullmatch(name):
            fault = fault or "a header line has no name"
            continue
        lower = name.lower()
        name = COMPACT_FORMS.get(lower) or _CANONICAL.get(lower) or name
        headers.add(name, value.strip())
    return fault


def _cut_body(headers: Headers, body: bytes, stream: bool) -> bytes:
    text = headers.get("Content-Length")
    if text is None:
        return body
    if not (text.isascii() and text.isdigit()) or len(text) > 8:
        raise ValueError("Content-Length is no number")
    length = int(text)
    if length > len(body):
        # RFC 3261, section 18.3: a datagram that ends early is a fault.
        raise ValueError("the body is shorter than Content-Length")
    return body if stream else body[:length]


def _check(message: Message) -> None:
    """Check what every message needs; raises ValueError."""
    headers = message.headers
    for name in _NEEDED:
        if not headers.get(name):
            raise ValueError(f"{name} is missing")
    for name in _SINGLE:
        if len(headers.getlist(name)) > 1:
            raise ValueError(f"{name} is there twice")
    vias(message)
    sequence = cseq(message)
    if sequence.sequence >= MAX_CSEQ:
        raise ValueError("the CSeq number is out of range")
    from_of(message)
    to_of(message)
    if not headers["Call-ID"].isprintable():
        raise ValueError("the Call-ID is malformed")


def _check_request(request: Request) -> None:
    if not request.uri or any(char in request.uri for char in ' <>"'):
        raise Malformed("the Request-URI is malformed", 400, request)
    if cseq(request).method != request.method:
        raise Malformed("CSeq names another method", 400, request)
    limit = request.headers.get("Max-Forwards")
    if limit is not None and not (limit.isascii() and limit.isdigit() and int(limit[:9]) <= 255):
        raise Malformed("Max-Forwards is out of range", 400, request)
    try:
        if request.headers.getlist("Contact") != ["*"]:
            contacts(request)
    except ValueError as error:
        raise Malformed(f"Contact: {error}", 400, request) from error


def vias(message: Message) -> list[Via]:
    """Read all Via values; raises ValueError."""
    parts = via_texts(message)
    if not parts or len(parts) > MAX_ITEMS:
        raise ValueError("Via has no values, or too many")
    return [Via.parse(part) for part in parts]


def via_texts(message: Message) -> list[str]:
    """Return every Via value as text, topmost first."""
    return [part for value in message.headers.getlist("Via") for part in split_quoted(value, ",")]


def cseq(message: Message) -> CSeq:
    """Read CSeq; raises ValueError."""
    text = message.headers.get("CSeq") or ""
    if len(text) > 128:
        raise ValueError("CSeq is too long")
    return CSeq.parse(text)


def from_of(message: Message) -> NameAddr:
    """Read From; raises ValueError."""
    return NameAddr.parse(message.headers.get("From") or "")


def to_of(message: Message) -> NameAddr:
    """Read To; raises ValueError."""
    return NameAddr.parse(message.headers.get("To") or "")


def contacts(message: Message) -> list[NameAddr]:
    """Read Contact; raises ValueError."""
    return parse_addresses(message.headers.getlist("Contact"))


def call_id(message: Message) -> str:
    """Return the Call-ID."""
    return message.headers.get("Call-ID") or ""


def tokens(message: Message, name: str) -> list[str]:
    """Return the values of a list of tokens, such as Supported, in lower case."""
    values = ",".join(message.headers.getlist(name)).split(",")
    return [value.strip().lower() for value in values if value.strip()]


def content_type(message: Message) -> str:
    """Return the media type of the body in lower case, without parameters."""
    return (message.headers.get("Content-Type") or "").partition(";")[0].strip().lower()


def number(message: Message, name: str, most: int = 2**32 - 1) -> int | None:
    """Read the number a header begins with; None when there is none or it is out of range."""
    match = re.match(r"\s*(\d{1,10})", message.headers.get(name) or "")
    if match is None or int(match[1]) > most:
        return None
    return int(match[1])


# --- writing -----------------------------------------------------------------------------------

PHRASES = {
    100: "Trying", 180: "Ringing", 183: "Session Progress", 200: "OK", 202: "Accepted",
    400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed", 406: "Not Acceptable", 408: "Request Timeout",
    413: "Request Entity Too Large", 415: "Unsupported Media Type",
    416: "Unsupported URI Scheme", 420: "Bad Extension", 421: "Extension Required",
    422: "Session Interval Too Small", 480: "Temporarily Unavailable",
    481: "Call/Transaction Does Not Exist", 482: "Loop Detected", 483: "Too Many Hops",
    486: "Busy Here", 487: "Request Terminated", 488: "Not Acceptable Here", 489: "Bad Event",
    491: "Request Pending", 500: "Server Internal Error", 501: "Not Implemented",
    503: "Service Unavailable", 505: "Version Not Supported", 513: "Message Too Large",
    603: "Decline",
}  # fmt: skip


def reply(request: Request, code: int, tag: str = "", phrase: str = "") -> Response:
    """Begin a response as RFC 3261, section 8.2.6.2 asks; the tag goes on To if it has none."""
    response = Response(code, phrase or PHRASES.get(code, "Unknown"))
    for name in ("Via", "From", "To", "Call-ID", "CSeq"):
        values = request.headers.getlist(name)
        if values:
            response.headers.setlist(name, list(values))
    to = response.headers.get("To") or ""
    if tag and code > 100 and not re.search(r";\s*tag\s*=", to, re.IGNORECASE):
        response.headers.set("To", f"{to};tag={tag}")
    return response


def set_body(message: Message, body: bytes, kind: str = "application/sdp") -> None:
    """Put a body on a message."""
    message.body = body
    message.headers.set("Content-Type", kind)
