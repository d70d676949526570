"""What strangers and the machine do to a gateway while it holds calls, one after the other."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from bench.calls.gateway_process import GatewayProcess

MOST_STOPPED = 2.0
"""Seconds for which the whole process stands still."""


class Mischief:
    """Does one thing at a time to one gateway; `done` counts what it did."""

    def __init__(self, to: GatewayProcess, sip_port: int, chance: random.Random) -> None:
        self.done: dict[str, int] = {}
        self._to = to
        self._sip = sip_port
        self._chance = chance

    async def run(self) -> None:
        """Go on until cancelled."""
        deeds = {
            "stopped": self._stops,
            "log folder away": self._loses_log,
            "recordings away": self._loses_recordings,
            "datagrams to SIP": self._floods_sip,
            "datagrams to RTP": self._floods_rtp,
            "junk to HTTP": self._junk,
            "sockets that say nothing": self._idles,
            "requests": self._asks,
        }
        while True:
            await asyncio.sleep(self._chance.uniform(2.0, 8.0))
            name = self._chance.choice(list(deeds))
            await deeds[name]()
            self.done[name] = self.done.get(name, 0) + 1

    async def _stops(self) -> None:
        self._to.process.send_signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(self._chance.uniform(0.1, MOST_STOPPED))
        finally:
            self._to.process.send_signal(signal.SIGCONT)

    async def _loses_log(self) -> None:
        """Take the log's folder away for a moment; what was written meanwhile is kept beside it."""
        folder, away = self._to.folder / "log", self._to.folder / "log.away"
        folder.rename(away)
        try:
            await asyncio.sleep(self._chance.uniform(0.5, 2.0))
        finally:
            while True:
                try:
                    self._put_back(away, folder)
                    break
                except OSError:
                    continue  # the gateway made a file in it meanwhile

    def _put_back(self, away: Path, folder: Path) -> None:
        """Keep what was written meanwhile beside what was there."""
        for made in folder.glob("*") if folder.exists() else ():
            made.rename(away / f"{made.name}.{self._chance.getrandbits(40)}.kept")
        away.rename(folder)  # in place of an empty folder, or of none

    async def _loses_recordings(self) -> None:
        folder = self._to.recordings
        if not folder.is_dir():
            return
        away = folder.with_name("recordings.away")
        folder.rename(away)
        folder.write_bytes(b"")  # a file is where the folder was
        try:
            await asyncio.sleep(self._chance.uniform(0.5, 2.0))
        finally:
            folder.unlink(missing_ok=True)
            away.rename(folder)

    async def _floods_sip(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
            for number in range(2000):
                size = self._chance.randrange(1, 1400)
                said = b"INVITE sip:a@b SIP/2.0\r\n" if number % 3 else b""
                sending.sendto(said + self._chance.randbytes(size), ("127.0.0.1", self._sip))
                if number % 200 == 0:
                    await asyncio.sleep(0)

    async def _floods_rtp(self) -> None:
        ports = _udp_ports(self._to.process.pid)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
            for number in range(5000):
                port = self._chance.choice(ports) if ports else self._sip
                packet = bytes((0x80, self._chance.choice((0, 8, 96, 101)))) + os.urandom(170)
                sending.sendto(packet, ("127.0.0.1", port))
                if number % 200 == 0:
                    await asyncio.sleep(0)

    async def _junk(self) -> None:
        address = urlsplit(self._to.address)
        for _ in range(20):
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            writer.write(self._chance.randbytes(self._chance.randrange(1, 4000)) + b"\r\n\r\n")
            try:
                async with asyncio.timeout(2):
                    await reader.read(1000)
            except (OSError, TimeoutError):
                pass
            writer.close()

    async def _idles(self) -> None:
        address = urlsplit(self._to.address)
        opened = [await asyncio.open_connection(address.hostname, address.port) for _ in range(30)]
        await asyncio.sleep(1.0)
        for _, writer in opened:
            writer.transport.abort()

    async def _asks(self) -> None:
        paths = ("/healthz", "/calls/list", "/twilio/voice", "/metrics", "/nowhere", "/widget.js")
        async with httpx.AsyncClient(trust_env=False, timeout=5) as client:
            for _ in range(50):
                try:
                    await client.request(
                        self._chance.choice(("GET", "POST", "PUT")),
                        self._to.address + self._chance.choice(paths),
                        content=self._chance.randbytes(self._chance.randrange(0, 2000)),
                    )
                except httpx.HTTPError:
                    pass


def _udp_ports(process: int) -> list[int]:
    """Return the ports on which a process takes datagrams (Linux, proc(5))."""
    own = set()
    for entry in Path(f"/proc/{process}/fd").iterdir():
        try:
            own.add(os.readlink(entry))
        except OSError:
            continue  # it was closed meanwhile
    found = []
    for line in Path("/proc/net/udp").read_text().splitlines()[1:]:
        parts = line.split()
        if f"socket:[{parts[9]}]" in own:
            found.append(int(parts[1].rpartition(":")[2], 16))
    return found
