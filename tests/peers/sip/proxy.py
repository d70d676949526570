"""Kamailio and rtpengine on the loopback, as a carrier or a PBX would have them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.peers.sip.harness import free_port
from tests.peers.sip.phones import free_tcp_port

CONFIGURATION = Path(__file__).parent / "kamailio.cfg"


@dataclass
class Proxy:
    """Where the proxy listens."""

    port: int
    tls: int
    log: Path

    async def printed(self, text: str) -> None:
        """Wait until it has printed something."""
        await _printed(self.log, text)


async def _printed(log: Path, text: str) -> None:
    async with asyncio.timeout(15):
        while text not in log.read_text(errors="replace"):  # noqa: ASYNC110, ASYNC240
            await asyncio.sleep(0.05)


@asynccontextmanager
async def _ready(log: Path, text: str) -> AsyncIterator[None]:
    await _printed(log, text)
    yield


@asynccontextmanager
async def proxy(folder: Path, pem: Path, gateway: str, media: str = "") -> AsyncIterator[Proxy]:
    """Run both; `gateway` is the URI that calls are dispatched to, `media` options of rtpengine."""
    folder.mkdir(exist_ok=True)  # noqa: ASYNC240  (a test may wait for the disk)
    port, tls, control = free_tcp_port(), free_tcp_port(), free_port()
    low = 30_000 + port % 200 * 100
    (folder / "dispatcher.list").write_text(f"1 {gateway}\n")
    text = CONFIGURATION.read_text()
    for name, value in (
        ("PORT", port), ("TLS", tls), ("NG", control), ("PEM", pem), ("FOLDER", folder),
        ("MEDIA", media),
    ):  # fmt: skip
        text = text.replace(f"@{name}@", str(value))
    (folder / "kamailio.cfg").write_text(text)
    running = Proxy(port, tls, folder / "kamailio.log")
    async with (
        _program(
            folder / "rtpengine.log",
            *("rtpengine", "--interface=127.0.0.1", f"--listen-ng=127.0.0.1:{control}"),
            *("--table=-1", f"--port-min={low}", f"--port-max={low + 99}", "--foreground"),
            *("--log-stderr", f"--pidfile={folder / 'rtpengine.pid'}", "--num-threads=2"),
            "--config-file=none",  # the system's names ports that only one can have
        ),
        _ready(folder / "rtpengine.log", "Startup complete"),
        _program(
            running.log,
            *("kamailio", "-DD", "-E", "-f", str(folder / "kamailio.cfg")),
            *("-P", str(folder / "kamailio.pid"), "-w", str(folder), "-Y", str(folder)),
        ),
    ):
        await _accepts(port)
        yield running


@asynccontextmanager
async def _program(log: Path, *command: str) -> AsyncIterator[None]:
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=file, stderr=file
        )
        try:
            yield
        finally:
            if process.returncode is None:
                process.terminate()
            try:
                async with asyncio.timeout(5):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


async def _accepts(port: int) -> None:
    """Wait until somebody listens."""
    async with asyncio.timeout(15):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.05)
                continue
            writer.close()
            await writer.wait_closed()
            return
