"""What the front of the SIP line and its parts in the processes say to each other."""

from __future__ import annotations

import msgspec

from gateway.lines.sip.transactions.hop import Hop
from gateway.lines.sip.transport.sockets import Bound


class Message(msgspec.Struct, frozen=True, tag=True):
    """One message."""


class Ports(Message, frozen=True):
    """The front listens on these."""

    bound: tuple[Bound, ...]


class Came(Message, frozen=True):
    """A message came from the network."""

    data: bytes
    hop: Hop


class Broke(Message, frozen=True):
    """A message could not be sent."""

    owner: tuple[str, ...] | None


class Send(Message, frozen=True):
    """Send this."""

    data: bytes
    hop: Hop
    owner: tuple[str, ...] | None
    "the transaction that is told where that cannot be"


encode = msgspec.msgpack.Encoder().encode
to_part = msgspec.msgpack.Decoder(Ports | Came | Broke)
to_front = msgspec.msgpack.Decoder(Send)
