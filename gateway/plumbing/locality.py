"""Which requests come from this machine: what is open to it alone asks here."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

FORWARDED = ("x-forwarded-for", "forwarded", "x-real-ip")
"""Headers by which proxies and tunnels say whom they speak for."""


def is_loopback(address: str) -> bool:
    """Say whether an address is this machine's own."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def names_this_machine(authority: str) -> bool:
    """Say whether a Host names this machine: a name that was made to point here does not."""
    try:
        host = urlsplit(f"//{authority}").hostname or ""
    except ValueError:
        return False
    return host == "localhost" or is_loopback(host)


def is_local(address: str, headers: Mapping[str, str]) -> bool:
    """Say whether a request comes from this machine, and not through a proxy or tunnel on it, nor
    from a page of somebody else's that a browser here shows."""
    if any(name in headers for name in FORWARDED) or not is_loopback(address):
        return False
    host = headers.get("host", "")
    if host and not names_this_machine(host):
        return False
    origin = headers.get("origin", "")
    return not origin or names_this_machine(origin.partition("//")[2])
