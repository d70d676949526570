"""What a session description says (RFC 8866): a tolerant reader and a strict writer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Direction = Literal["sendrecv", "sendonly", "recvonly", "inactive"]
DIRECTIONS: tuple[Direction, ...] = ("sendrecv", "sendonly", "recvonly", "inactive")
MIRROR: dict[Direction, Direction] = {
    "sendrecv": "sendrecv",
    "sendonly": "recvonly",
    "recvonly": "sendonly",
    "inactive": "inactive",
}
"""The same direction, seen from the other side."""

MAX_MEDIA = 16
"""Media lines of one description; video calls have two or three."""

Attributes = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """The o= line: names a session and counts its versions."""

    session: int
    version: int
    host: str
    user: str = "-"


@dataclass(frozen=True, slots=True)
class Media:
    """One m= line and what follows it."""

    kind: str
    port: int
    protocol: str
    formats: tuple[str, ...]
    host: str = ""
    "of its own c= line; empty: the session's"
    attributes: Attributes = ()

    def get(self, name: str) -> str | None:
        """Return the first value of an attribute; "" for a flag, None when it is absent."""
        return next((value or "" for key, value in self.attributes if key == name), None)

    def all(self, name: str) -> list[str]:
        """Return every value of an attribute."""
        return [value for key, value in self.attributes if key == name and value]


@dataclass(frozen=True, slots=True)
class Description:
    """A whole session description."""

    origin: Origin
    host: str
    "of the session's c= line, empty when every media line has its own"
    media: tuple[Media, ...]
    attributes: Attributes = ()

    @classmethod
    def parse(cls, body: bytes) -> Description:
        """Read a description; raises ValueError."""
        reader = _Reader()
        text = body.decode("utf-8", "replace")
        for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
            if line.strip():
                reader.take(line)
        return reader.result()

    def host_of(self, media: Media) -> str:
        """Return the address that a media line is received at."""
        return media.host or self.host

    def direction_of(self, media: Media) -> Direction:
        """Return the direction as its sender means it; a media line's own one wins."""
        for attributes in (media.attributes, self.attributes):
            for direction in DIRECTIONS:
                if any(key == direction for key, _ in attributes):
                    return direction
        return "sendrecv"

    def encode(self) -> bytes:
        """Return the wire form."""
        origin = self.origin
        family = "IP6" if ":" in self.host else "IP4"
        lines = [
            "v=0",
            f"o={origin.user} {origin.session} {origin.version} IN {family} {origin.host}",
            "s=-",
            f"c=IN {family} {self.host}",
            "t=0 0",
            *_attribute_lines(self.attributes),
        ]
        for media in self.media:
            lines.append(f"m={media.kind} {media.port} {media.protocol} {' '.join(media.formats)}")
            if media.host and media.host != self.host:
                lines.append(f"c=IN {'IP6' if ':' in media.host else 'IP4'} {media.host}")
            lines += _attribute_lines(media.attributes)
        return ("\r\n".join(lines) + "\r\n").encode()

    def with_version(self, version: int) -> Description:
        """Return the same with another version."""
        return replace(self, origin=replace(self.origin, version=version))


def _attribute_lines(attributes: Attributes) -> list[str]:
    return [f"a={key}" if value is None else f"a={key}:{value}" for key, value in attributes]


class _Reader:
    """Collects lines into a description."""

    def __init__(self) -> None:
        self._origin = Origin(0, 0, "")
        self._host = ""
        self._attributes: list[tuple[str, str | None]] = []
        self._media: list[Media] = []

    def take(self, line: str) -> None:
        """Take one line; kinds that say nothing here are passed over."""
        kind, equals, value = line[:1], line[1:2], line[2:].strip()
        if equals != "=":
            raise ValueError("a line of the session description has no type")
        match kind:
            case "v" if value != "0":
                raise ValueError("unknown version of the session description")
            case "o":
                self._origin = _parse_origin(value)
            case "c":
                self._connect(_parse_connection(value))
            case "a":
                self._attribute(value)
            case "m":
                if len(self._media) >= MAX_MEDIA:
                    raise ValueError("too many media lines")
                self._media.append(_parse_media(value))
            case _:
                pass  # b=, t=, k= and what is still to be invented say nothing here

    def result(self) -> Description:
        """Return the description."""
        return Description(self._origin, self._host, tuple(self._media), tuple(self._attributes))

    def _connect(self, host: str) -> None:
        if self._media:
            self._media[-1] = replace(self._media[-1], host=host)
        else:
            self._host = host

    def _attribute(self, text: str) -> None:
        key, colon, value = text.partition(":")
        item = (key.strip().lower(), value.strip() if colon else None)
        if self._media:
            last = self._media[-1]
            self._media[-1] = replace(last, attributes=(*last.attributes, item))
        else:
            self._attributes.append(item)


def _parse_origin(value: str) -> Origin:
    """Read what can be read: nothing here goes by it, and calls come with names and hex in it."""
    user, session, version, _, _, host = ["-", "", "", "", "", "", *value.split()][-6:]
    return Origin(_number(session), _number(version), host, user)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 40 else 0


def _parse_connection(value: str) -> str:
    parts = value.split()
    if len(parts) != 3 or parts[0] != "IN":
        raise ValueError("the connection line is malformed")
    return parts[2].partition("/")[0]


def _parse_media(value: str) -> Media:
    parts = value.split()
    if len(parts) < 4:
        raise ValueError("a media line is malformed")
    kind, port, protocol, *formats = parts
    port = port.partition("/")[0]
    if not (port.isascii() and port.isdigit() and int(port[:6]) <= 65535):
        raise ValueError("a media line has no port")
    return Media(kind.lower(), int(port), protocol.upper(), tuple(formats[:64]))
