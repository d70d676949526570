"""What the operator set and cannot be had at the start, said as the operator needs it."""

from __future__ import annotations

import os
import socket
import ssl
from pathlib import Path


class StartFailed(OSError):
    """Says in one line which setting asks for what, and why that cannot be."""


def reason(error: OSError) -> str:
    """Return the system's own words for a failure."""
    if isinstance(error, socket.gaierror | ssl.SSLError) or not error.errno:
        return str(error.args[-1] if error.args else error)
    return os.strerror(error.errno)  # asyncio puts the address in front, and it is said already


def cannot_listen(settings: str, host: str, port: int, error: OSError) -> StartFailed:
    """Say that an address is taken, is not ours, or is none."""
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return StartFailed(f"{settings}: cannot listen on {place}: {reason(error)}")


def cannot_use(setting: str, path: str | Path, error: OSError) -> StartFailed:
    """Say that a file cannot be read or written."""
    return StartFailed(f"{setting}: {path}: {reason(error)}")


def bind(settings: str, host: str, port: int) -> list[socket.socket]:
    """Take a TCP port on every address of a host, without listening yet; raises StartFailed."""
    bound: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(found):
            one = socket.socket(family, kind, protocol)
            bound.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind(address)
    except (OSError, UnicodeError) as error:  # UnicodeError: no name of a host at all
        for one in bound:
            one.close()
        system = error if isinstance(error, OSError) else OSError("no name of a host")
        raise cannot_listen(settings, host, port, system) from None
    return bound
