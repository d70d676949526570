"""Where a message goes and where it came from: one transport address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Transport = Literal["udp", "tcp", "tls"]
DEFAULT_PORT: dict[Transport, int] = {"udp": 5060, "tcp": 5060, "tls": 5061}
"RFC 3261, section 19.1.2"


@dataclass(frozen=True, slots=True)
class Hop:
    """The far side of one exchange."""

    transport: Transport
    host: str
    "an IP address, without brackets"
    port: int
    connection: int = 0
    "of a stream that is up already; 0: whichever leads there"
    name: str = ""
    "the domain that was asked for, which a TLS certificate has to show"

    @property
    def reliable(self) -> bool:
        """Whether the transport itself repeats what is lost."""
        return self.transport != "udp"


@dataclass(frozen=True, slots=True)
class Timers:
    """RFC 3261, table 4; seconds."""

    t1: float = 0.5
    "round trip estimate"
    t2: float = 4.0
    "longest wait between repetitions"
    t4: float = 5.0
    "how long a message stays in the network"

    @property
    def limit(self) -> float:
        """Timers B, F, H, J, L and M."""
        return 64 * self.t1
