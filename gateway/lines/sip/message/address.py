"""How SIP writes addresses and parameters: quote-aware readers that keep the text as it came.

`sipmessage` reads URIs, Via and CSeq; it is not used to write what a peer sent, because it splits
at separators inside quotes and percent-encodes parameters, so that a tag would come back changed.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from sipmessage import URI as URI

Parameters = tuple[tuple[str, str | None], ...]

MAX_ITEMS = 64
"""Values in one list header; far above any honest Via or Record-Route."""

_TOKEN = re.compile(r"[A-Za-z0-9\-.!%*_+`'~]+")
_LOOSE_HOST = re.compile(
    r"(?P<scheme>sips?):(?:(?P<user>[^@\s<>\"]+)@)?(?P<host>[A-Za-z0-9._-]+)(?::(?P<port>\d{1,5}))?"
    r"(?P<params>;[^?\s]*)?"
)


def split_quoted(text: str, separator: str) -> list[str]:
    """Split at a separator that stands outside quotes and angle brackets.

    Raises ValueError when a quoted string or a bracket stays open (RFC 4475, section 3.1.2.6).
    """
    if '"' not in text and "<" not in text:
        return [part.strip() for part in text.split(separator)]
    parts: list[str] = []
    begin, quoted, angle, at = 0, False, False, 0
    while at < len(text):
        char = text[at]
        if quoted:
            if char == "\\":
                at += 1
            elif char == '"':
                quoted = False
        elif char == '"' and not angle:
            quoted = True
        elif char == "<":
            angle = True
        elif char == ">":
            angle = False
        elif char == separator and not angle:
            parts.append(text[begin:at].strip())
            begin = at + 1
        at += 1
    if quoted or angle:
        raise ValueError("a quoted string or an angle bracket is not closed")
    parts.append(text[begin:].strip())
    return parts


def unquote(text: str) -> str:
    """Take the quotes and escapes off a quoted string; leave a token alone."""
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def quote(text: str) -> str:
    """Write a quoted string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def parse_parameters(parts: list[str]) -> Parameters:
    """Read `name=value` pieces; raises ValueError on an empty one."""
    parameters: list[tuple[str, str | None]] = []
    for part in parts:
        name, equals, value = part.partition("=")
        if not _TOKEN.fullmatch(name.strip()):
            raise ValueError("a parameter has no name")
        parameters.append((name.strip(), value.strip() if equals else None))
    return tuple(parameters)


@dataclass(frozen=True, slots=True)
class NameAddr:
    """A name-addr or addr-spec with its header parameters (RFC 3261, section 25.1)."""

    uri: str
    "as it was written"
    name: str = ""
    "display name without quotes"
    parameters: Parameters = ()
    "values as they were written"

    @classmethod
    def parse(cls, text: str) -> NameAddr:
        """Read one address; raises ValueError."""
        text = text.strip()
        opening = _opening_bracket(text)
        if opening < 0:
            # RFC 3261, section 20: without brackets, parameters belong to the header.
            uri, *parts = split_quoted(text, ";")
            if not uri or any(char in uri for char in ' ?,"'):
                raise ValueError("an address with these characters needs angle brackets")
            return cls(uri, "", parse_parameters(parts))
        closing = text.find(">", opening)
        if closing < 0:
            raise ValueError("an angle bracket is not closed")
        uri = text[opening + 1 : closing].strip()
        rest = text[closing + 1 :].strip()
        if not uri or " " in uri or (rest and not rest.startswith(";")):
            raise ValueError("the address is malformed")
        return cls(
            uri,
            _display_name(text[:opening].strip()),
            parse_parameters(split_quoted(rest[1:], ";")) if rest else (),
        )

    def get(self, name: str) -> str | None:
        """Return a parameter's value without quotes; "" for a flag, None when it is absent."""
        for key, value in self.parameters:
            if key.lower() == name:
                return unquote(value or "")
        return None

    @property
    def tag(self) -> str:
        """The dialog tag, empty when there is none."""
        return self.get("tag") or ""

    def with_tag(self, tag: str) -> NameAddr:
        """Return this address with another tag."""
        kept = tuple(item for item in self.parameters if item[0].lower() != "tag")
        return NameAddr(self.uri, self.name, (*kept, ("tag", tag)) if tag else kept)

    def __str__(self) -> str:
        name = f"{quote(self.name)} " if self.name else ""
        return f"{name}<{self.uri}>{format_parameters(self.parameters)}"


_VIA = re.compile(
    r"SIP\s*/\s*2\.0\s*/\s*(?P<transport>[A-Za-z0-9.+-]+)\s+"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?:\s*:\s*(?P<port>\d{1,5}))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Via:
    """One Via value (RFC 3261, section 20.42); parameter values may hold what tokens may not."""

    host: str
    port: int | None
    parameters: Parameters = ()

    @classmethod
    def parse(cls, text: str) -> Via:
        """Read one; raises ValueError."""
        first, *parts = split_quoted(text, ";")
        match = _VIA.fullmatch(first)
        if match is None:
            raise ValueError("a Via is malformed")
        port = int(match["port"]) if match["port"] else None
        if port is not None and port > 65535:
            raise ValueError("a Via has a port out of range")
        return cls(match["host"], port, parse_parameters(parts))

    def get(self, name: str) -> str | None:
        """Return a parameter's value; "" for a flag, None when it is absent."""
        return next((v or "" for key, v in self.parameters if key.lower() == name), None)


def _opening_bracket(text: str) -> int:
    """Find the `<` that is outside quotes."""
    quoted, at = False, 0
    while at < len(text):
        if quoted and text[at] == "\\":
            at += 1
        elif text[at] == '"':
            quoted = not quoted
        elif text[at] == "<" and not quoted:
            return at
        at += 1
    if quoted:
        raise ValueError("a quoted string is not closed")
    return -1


def _display_name(text: str) -> str:
    if text.startswith('"'):
        if len(text) < 2 or not text.endswith('"'):
            raise ValueError("a display name is malformed")
        return unquote(text)
    if '"' in text:
        raise ValueError("a display name is malformed")
    # RFC 4475, section 3.1.2.15: names that are no tokens are accepted, as most do.
    return text


def format_parameters(parameters: Parameters) -> str:
    """Write `;name=value` pieces as they came."""
    return "".join(f";{k}" if v is None else f";{k}={v}" for k, v in parameters)


def parse_addresses(values: list[str]) -> list[NameAddr]:
    """Read all addresses of a list header; raises ValueError."""
    parts = [part for value in values for part in split_quoted(value, ",")]
    if len(parts) > MAX_ITEMS:
        raise ValueError("a list header has too many values")
    return [NameAddr.parse(part) for part in parts]


def parse_uri(text: str) -> URI:
    """Read a SIP, SIPS or TEL URI, without its headers; raises ValueError.

    Host names with an underscore are taken, since containers and PBXs use them.
    """
    scheme, colon, rest = text.partition(":")
    if not colon:
        raise ValueError("a URI has no scheme")
    text = f"{scheme.lower()}:{_without_headers(rest)}"
    if len(text) > 2048:  # keeps the library's patterns, which can backtrack, on short input
        raise ValueError("a URI is too long")
    match = _LOOSE_HOST.fullmatch(text)
    if match and "_" in match["host"]:
        plain = text[: match.start("host")] + "host" + text[match.end("host") :]
        parsed = URI.parse(plain)
        return URI(
            parsed.scheme,
            match["host"],
            parsed.user,
            parsed.password,
            parsed.port,
            parsed.parameters,
        )
    parsed = URI.parse(text)
    if parsed.port is not None and parsed.port > 65535:
        raise ValueError("a port is out of range")
    return parsed


def _without_headers(rest: str) -> str:
    """Cut `?headers` (RFC 3261, section 19.1.1); a user part may hold question marks itself."""
    user, at, host = rest.rpartition("@")
    return user + at + host.partition("?")[0]


def uri_headers(text: str) -> list[tuple[str, str]]:
    """Return the raw headers of a URI: `?Replaces=...` (still percent-encoded)."""
    host = text.rpartition("@")[2]
    _, mark, headers = host.partition("?")
    if not mark:
        return []
    pairs = (item.partition("=") for item in headers.split("&"))
    return [(name, value) for name, _, value in pairs]


def same_uri(one: str, other: str) -> bool:
    """Compare user, host and port (RFC 3261, section 19.1.4, without the parameters)."""
    try:
        first, second = parse_uri(one), parse_uri(other)
    except ValueError:
        return one == other
    return (first.scheme, first.user, first.host.lower(), first.port) == (
        second.scheme,
        second.user,
        second.host.lower(),
        second.port,
    )


def bare_host(host: str) -> str:
    """Take the brackets off an IPv6 reference."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def host_reference(host: str) -> str:
    """Put brackets around an IPv6 address."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def unmapped(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return an address of IPv4 as such, where a socket of both families writes it as one of 6."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def ip_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address when the host is one, None when it is a name."""
    try:
        return ipaddress.ip_address(bare_host(host))
    except ValueError:
        return None
