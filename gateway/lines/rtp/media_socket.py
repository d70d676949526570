"""Sockets for one call's RTP and RTCP: an even port and the next, drawn so that nobody guesses."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable

from gateway.lines.rtp.stream import Datagram

ATTEMPTS = 64
"""Pairs tried before the range counts as full."""
BUFFER = 65_536
"""Bytes in the kernel per socket: some 300 packets, more than a jitter buffer would use."""

Receive = Callable[[bytes, tuple[str, int]], None]


class MediaSockets:
    """A pair of UDP sockets on the loop."""

    def __init__(self, rtp: socket.socket, rtcp: socket.socket) -> None:
        self.port: int = rtp.getsockname()[1]
        self._rtp = rtp
        self._rtcp = rtcp
        self._receive: Receive | None = None
        self._loop = asyncio.get_running_loop()
        self.unsent = 0
        "packets the kernel did not take"

    @classmethod
    def open(cls, host: str, ports: tuple[int, int]) -> MediaSockets:
        """Bind a pair; raises OSError when the range has none left."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        low = ports[0] + ports[0] % 2
        pairs = (ports[1] - low + 1) // 2
        for _ in range(ATTEMPTS):
            port = low + 2 * secrets.randbelow(pairs)
            first = socket.socket(family, socket.SOCK_DGRAM)
            second = socket.socket(family, socket.SOCK_DGRAM)
            try:
                first.bind((host, port))
                second.bind((host, port + 1))
            except OSError:
                first.close()
                second.close()
                continue
            for one in (first, second):
                one.setblocking(False)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
            return cls(first, second)
        raise OSError(f"no free pair of ports between {ports[0]} and {ports[1]}")

    def start(self, receive: Receive) -> None:
        """Give what comes in to `receive`."""
        self._receive = receive
        for one in (self._rtp, self._rtcp):
            self._loop.add_reader(one.fileno(), self._readable, one)

    def _readable(self, source: socket.socket) -> None:
        # One packet at a time: the loop asks again while more wait, and a second look at an empty
        # socket would cost as much as the packet itself.
        try:
            data, address = source.recvfrom(2048)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            return  # an ICMP error of an earlier packet; silence is noticed elsewhere
        if self._receive is not None:
            self._receive(data, (address[0], address[1]))

    def send(self, datagram: Datagram) -> None:
        """Send at once, or not at all: late sound is of no use."""
        through = self._rtcp if datagram.rtcp else self._rtp
        try:
            through.sendto(datagram.data, datagram.address)
        except OSError:
            self.unsent += 1

    def close(self) -> None:
        """Give the ports back."""
        self._receive = None
        for one in (self._rtp, self._rtcp):
            if one.fileno() >= 0:
                self._loop.remove_reader(one.fileno())
                one.close()
