"""Which addresses of a description are somebody to send sound to; none is ever looked up."""

from __future__ import annotations

import ipaddress

NOWHERE = frozenset({"0.0.0.0", "::"})
"""On hold, as RFC 2543 said it (RFC 3264, section 8.4): nothing is sent, but the call goes on.
The system would take them for this machine."""

_THIS_NETWORK = ipaddress.ip_network("0.0.0.0/8")
"""RFC 6890: only ever a source."""


def is_nowhere(host: str) -> bool:
    """Whether an address stands for nobody at all."""
    return host in NOWHERE


def objection(host: str) -> str:
    """Return why nothing may be sent to an address; empty: it is a host's, or `NOWHERE`.

    A description is whatever the far side cares to write: a group, a whole network or a name that
    the sockets would look up for each packet is never sent to.
    """
    if is_nowhere(host):
        return ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "the connection address is not an IP address"
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return _of_a_group(host) if address.is_multicast else ""
        address = address.ipv4_mapped
    if address.is_multicast:
        return _of_a_group(host)
    if int(address) == 0xFFFFFFFF:
        return f"the connection address {host} is the broadcast address"
    if address.is_reserved or address in _THIS_NETWORK:
        return f"the connection address {host} is no host's"
    return ""


def _of_a_group(host: str) -> str:
    return f"the connection address {host} is a multicast group's"
