"""Which addresses and names are this machine's own; that a request bears one proves nothing."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(address: str) -> bool:
    """Return whether an address is this machine's own."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def names_this_machine(authority: str) -> bool:
    """Return whether a `HOST:PORT` names this machine: a name made to point here does not."""
    try:
        host = urlsplit(f"//{authority}").hostname or ""
    except ValueError:
        return False
    return host == "localhost" or is_loopback(host)
