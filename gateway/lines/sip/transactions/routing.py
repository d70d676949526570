"""Where a URI leads when no name has to be asked for (RFC 3263, section 4; RFC 5923 in spirit)."""

from __future__ import annotations

from typing import Literal

from gateway.lines.sip.message.address import URI, bare_host, ip_of, parse_uri
from gateway.lines.sip.transactions.hop import DEFAULT_PORT, Hop, Transport

Nat = Literal["auto", "always", "never"]


def transport_of(uri: URI) -> Transport | None:
    """Return the transport a URI asks for; None when it leaves that open."""
    named = next(
        ((value or "").lower() for key, value in uri.parameters.items() if key == "transport"), ""
    )
    if uri.scheme == "sips":
        return "tls"
    match named:
        case "udp":
            return "udp"
        case "tcp":
            return "tcp"
        case "tls":
            return "tls"
        case _:
            return None


def direct_hops(uri: str, flow: Hop | None, nat: Nat = "auto") -> tuple[Hop, ...] | None:
    """Return the hops for a URI with a numeric host; None when its name has to be looked up.

    `flow` is where the far side's last message came from: its connection is used again, and its
    address stands in for one that cannot be reached from here. Raises ValueError.
    """
    parsed = parse_uri(uri)
    if parsed.scheme == "tel":
        raise ValueError("a telephone number needs a trunk")
    ip = ip_of(parsed.host)
    transport = transport_of(parsed) or (flow.transport if flow else "udp")
    if flow is not None and _use_flow(parsed, flow, transport, nat):
        return (flow,)
    if ip is None:
        return None
    host = bare_host(parsed.host)
    port = parsed.port or DEFAULT_PORT[transport]
    kept = flow if flow and flow.reliable and flow.transport == transport else None
    connection = kept.connection if kept and kept.host == host else 0
    return (Hop(transport, host, port, connection, host),)


def _use_flow(uri: URI, flow: Hop, transport: Transport, nat: Nat) -> bool:
    """Whether a target is behind a NAT, so that only the way it came from leads back."""
    if nat == "never" or transport != flow.transport:
        return False
    if nat == "always":
        return True
    target, source = ip_of(uri.host), ip_of(flow.host)
    if target is None or source is None or target == source:
        return False
    return (target.is_private and not source.is_private) or target.is_unspecified
