"""How a call is handed on (RFC 3515, 3891, 5589): what is written, and how it goes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from gateway.lines.sip.message.address import NameAddr, parse_uri, uri_headers
from gateway.lines.sip.message.message import Request


@dataclass(frozen=True, slots=True)
class Replaces:
    """Which dialog a call takes the place of (RFC 3891), from the point of view of its receiver."""

    call_id: str
    to_tag: str
    from_tag: str
    early_only: bool = False

    @classmethod
    def parse(cls, text: str) -> Replaces:
        """Read the header; raises ValueError."""
        call_id, *parts = (part.strip() for part in text.split(";"))
        found = dict(part.partition("=")[::2] for part in parts)
        if not call_id or not found.get("to-tag") or not found.get("from-tag"):
            raise ValueError("Replaces is malformed")
        return cls(call_id, found["to-tag"], found["from-tag"], "early-only" in found)

    def __str__(self) -> str:
        early = ";early-only" if self.early_only else ""
        return f"{self.call_id};to-tag={self.to_tag};from-tag={self.from_tag}{early}"


def refer_to(target: str, replaces: str = "") -> str:
    """Write Refer-To; Replaces goes into the URI, escaped (RFC 3891, section 4)."""
    return f"<{target}?Replaces={quote(replaces, safe='')}>" if replaces else f"<{target}>"


def read_refer(request: Request) -> tuple[str, str]:
    """Return target and Replaces of a REFER; raise ValueError (RFC 3515, section 2.1: exactly one).

    Other headers that the URI asks for are not taken over.
    """
    values = request.headers.getlist("Refer-To")
    if len(values) != 1:
        raise ValueError("a REFER has exactly one Refer-To")
    uri = NameAddr.parse(values[0]).uri if "<" in values[0] else values[0].strip()
    parse_uri(uri)
    replaces = ""
    for name, value in uri_headers(uri):
        if name.lower() == "replaces":
            replaces = str(Replaces.parse(unquote(value)))
    user, at, host = uri.rpartition("@")
    return user + at + host.partition("?")[0], replaces


_STATUS = re.compile(r"\s*SIP/2\.0\s+(\d{3})\s*([^\r\n]*)", re.IGNORECASE)


def read_fragment(body: bytes) -> tuple[int, str]:
    """Return code and phrase of a message/sipfrag; raises ValueError (RFC 3420)."""
    match = _STATUS.match(body[:512].decode("utf-8", "replace"))
    if match is None:
        raise ValueError("the fragment has no status line")
    return int(match[1]), match[2].strip()


def write_fragment(code: int, phrase: str) -> bytes:
    """Write a message/sipfrag."""
    return f"SIP/2.0 {code} {phrase}\r\n".encode()


def subscription_over(request: Request) -> bool:
    """Whether a NOTIFY says that no further one comes (RFC 6665, section 4.1.3)."""
    state = request.headers.get("Subscription-State") or ""
    return state.strip().lower().startswith("terminated")


class Handover:
    """Our REFER: from sending it to knowing how it ended."""

    def __init__(self) -> None:
        self._code = 0
        self._until: float | None = None
        self.pending = False

    @property
    def deadline(self) -> float | None:
        """When the outcome is overdue."""
        return self._until

    def began(self, until: float) -> None:
        """The REFER went out."""
        self.pending, self._code, self._until = True, 0, until

    def answered(self, code: int) -> tuple[bool, int, str] | None:
        """Take the final response to the REFER; give an outcome when that decides it."""
        if not self.pending or code < 300:
            return None
        return self._end(False, code, "the far side refuses to transfer")

    def notified(self, request: Request) -> tuple[bool, int, str] | None:
        """Take a NOTIFY; give the outcome when it is known. Raises ValueError."""
        over = subscription_over(request)
        if request.body.strip():
            self._code, phrase = read_fragment(request.body)
            if self._code >= 200:
                return self._end(self._code < 300, self._code, phrase) if self.pending else None
        if over and self.pending:
            # Some end the subscription on 180 or without a word: the call may well go on.
            return self._end(self._code in (180, 183), self._code, "no further notice will come")
        return None

    def gone(self) -> tuple[bool, int, str] | None:
        """The far side hung up: after an accepted REFER that is what success looks like."""
        if not self.pending:
            return None
        return self._end(True, self._code, "the far side left after the transfer began")

    def tick(self, now: float) -> tuple[bool, int, str] | None:
        """Give up waiting."""
        if self._until is None or now < self._until or not self.pending:
            return None
        return self._end(False, 408, "nothing was heard of the transfer")

    def _end(self, accepted: bool, code: int, reason: str) -> tuple[bool, int, str]:
        self.pending, self._until = False, None
        return accepted, code, reason
