"""What systemd and a service say to each other: sockets that it holds, and that all is ready.

Sources: sd_listen_fds(3) and sd_notify(3), whose protocols these are.
"""

from __future__ import annotations

import os
import socket

FIRST_FILE = 3
"""SD_LISTEN_FDS_START."""


def held_sockets() -> list[socket.socket]:
    """Return the listening TCP sockets that systemd holds for this process, if it does; once."""
    meant = os.environ.pop("LISTEN_PID", "") == str(os.getpid())
    count = os.environ.pop("LISTEN_FDS", "0")
    os.environ.pop("LISTEN_FDNAMES", None)
    if not meant or not count.isdecimal():
        return []
    found: list[socket.socket] = []
    for file in range(FIRST_FILE, FIRST_FILE + int(count)):
        os.set_inheritable(file, False)
        one = socket.socket(fileno=file)
        if one.type == socket.SOCK_STREAM and one.family in (socket.AF_INET, socket.AF_INET6):
            found.append(one)
        else:
            one.detach()  # it is no HTTP port; left as it was
    return found


def notify(state: str) -> None:
    """Tell systemd a state, as in `READY=1`, where it wants to know."""
    place = os.environ.get("NOTIFY_SOCKET", "")
    if not place:
        return
    address = "\0" + place[1:] if place.startswith("@") else place
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as one:
        try:
            one.sendto(state.encode(), address)
        except OSError:  # nobody is there to be told
            return
