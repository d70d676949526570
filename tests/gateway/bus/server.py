"""A real NATS server with JetStream, on one port for good, that can be killed and come back."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.js.errors import NotFoundError

BINARY = Path(sys.executable).parent / "nats-server"

PATIENCE = 20.0


class Server:
    """Its process; what it has is on the disk."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as taken:
            self.port = taken.getsockname()[1]
        self.url = f"nats://127.0.0.1:{self.port}"
        self._store = folder / "nats"
        self._arguments = arguments
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = (str(BINARY), "-js", "-a", "127.0.0.1", "-p", str(self.port))
        self.process = subprocess.Popen(
            [*command, "-sd", str(self._store), *self._arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise AssertionError("the server never listened")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def lose_everything(self) -> None:
        """Have it come back without what it had."""
        self.kill()
        shutil.rmtree(self._store)

    def events(self, name: str = "parley", **options: Any) -> list[tuple[str, bytes]]:
        """Return all events, in the stream's order, with their subjects."""

        async def read() -> list[tuple[str, bytes]]:
            client = await nats.connect(self.url, allow_reconnect=False, **options)
            try:
                stream = client.jetstream()
                try:
                    info = await stream.stream_info(f"{name}-events")
                except NotFoundError:
                    return []
                found = [
                    await stream.get_msg(f"{name}-events", seq=number)
                    for number in range(max(info.state.first_seq, 1), info.state.last_seq + 1)
                ]
                return [(one.subject or "", one.data or b"") for one in found]
            finally:
                await client.close()

        return asyncio.run(read())


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path)
    made.start()
    yield made
    made.kill()
