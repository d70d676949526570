"""A SIP line with test parties behind it, and SIPp in front of it."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gateway.lines.sip.line import SipLine
from gateway.lines.sip.settings import SipSettings
from gateway.lines.sip.transactions.hop import Timers
from tests.support.owner import DOORS
from tests.support.peers import package_of
from tests.support.sip_answers import Parties, Party

SCENARIOS = Path(__file__).parent
QUICK = Timers(t1=0.1, t2=0.4, t4=0.5)
"""Timer values with which 64 T1 are 6.4 s."""

T = TypeVar("T")


def needs(*names: str) -> list[pytest.MarkDecorator]:
    """Mark a whole module as one with peers; it is skipped by name where a program is missing."""
    missing = [name for name in names if shutil.which(name) is None]
    said = ", ".join(f"{name} (apt-get install {package_of(name)})" for name in missing)
    return [pytest.mark.peer, pytest.mark.skipif(bool(missing), reason=f"not installed: {said}")]


@dataclass
class Served:
    """What a test talks to."""

    line: SipLine
    parties: Parties
    port: int


@asynccontextmanager
async def served(
    parties: Parties | None = None, timers: Timers = QUICK, **settings: Any
) -> AsyncIterator[Served]:
    """Serve a SIP line on a free port of the loopback."""
    parties = parties or Parties()
    values: dict[str, Any] = {"host": "127.0.0.1", "udp": 0, "tcp": None, **settings}
    ready = asyncio.Event()
    line = SipLine(SipSettings(**values), parties, DOORS, default_agent="test", timers=timers)
    parties.pacer.start()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(line.run(ready.set))
        await ready.wait()
        port = line.network.port("udp") or line.network.port("tcp")
        try:
            yield Served(line, parties, port)
        finally:
            parties.pacer.stop()
            task.cancel()


async def sipp(
    scenario: str, port: int | None, folder: Path, *more: str, seconds: float = 30.0
) -> None:
    """Play a scenario, against a port of the loopback or (None) as the one who is called.

    Fails when SIPp does.
    """
    file = SCENARIOS / f"{scenario}.xml"
    far = () if port is None else (f"127.0.0.1:{port}",)
    said = folder / "stderr.txt"
    with said.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *("sipp", *far, "-sf", str(file), "-i", "127.0.0.1", "-mi", "127.0.0.1"),
            *("-s", "bot", "-m", "1", "-nostdin", "-trace_err", "-trace_msg"),
            *("-timeout", f"{seconds:.0f}s", "-timeout_error", "-mp", str(_free_block())),
            *more,
            cwd=folder,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=errors,
            env={**os.environ, "TERM": "dumb"},
        )
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
    if code != 0:
        raise AssertionError(f"sipp: {code}\n{said.read_text()}\n{_traces(folder)}")


def _traces(folder: Path) -> str:
    """Return what SIPp wrote about errors and messages."""
    return "\n".join(path.read_text(errors="replace") for path in folder.glob("*_*_*.log"))


_block = 20_000 + os.getpid() % 200 * 50


def _free_block() -> int:
    """Return ports that no other SIPp of this run uses."""
    global _block
    _block += 50
    return _block


async def party_of(served: Served) -> Party:
    """Wait for a call to be answered."""
    async with asyncio.timeout(10):
        return await served.parties.next()


def free_port() -> int:
    """Return a UDP port that is free now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# --- recordings of packets -----------------------------------------------------------------------


def write_pcap(path: Path, packets: list[tuple[float, bytes]]) -> None:
    """Write RTP packets (seconds, bytes) as SIPp plays them: Ethernet, IPv4, UDP."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for at, data in packets:
            udp = struct.pack("!HHHH", 6000, 6000, 8 + len(data), 0) + data
            address = bytes((127, 0, 0, 1))
            head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0)
            frame = bytes(12) + b"\x08\x00" + head + address * 2 + udp
            whole, part = int(at), int(at % 1 * 1e6)
            file.write(struct.pack("<IIII", whole, part, len(frame), len(frame)) + frame)
