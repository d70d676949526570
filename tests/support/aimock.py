"""aimock, a mock of models' servers that others wrote: where `make test` put it, and its runs."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.peers import is_up

BIN = Path(__file__).parents[1] / "peers" / "aimock" / "node_modules" / ".bin"

LLMOCK = shutil.which("llmock", path=str(BIN)) or shutil.which("llmock")
"""The program, None where it is not installed."""

NEEDS_AIMOCK = [
    pytest.mark.peer,
    pytest.mark.skipif(
        LLMOCK is None, reason="not installed: llmock (`make test` installs it where npm is)"
    ),
]


@asynccontextmanager
async def serving(
    folder: Path, fixtures: list[dict[str, Any]], *options: str
) -> AsyncIterator[int]:
    """Run it on what it is to answer; give its port."""
    assert LLMOCK is not None
    file = folder / "fixtures.json"
    file.write_text(json.dumps({"fixtures": fixtures}))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        LLMOCK,
        *("-p", str(port), "-f", str(file), "--log-level", "silent", *options),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(20):
            while not await is_up(port):  # noqa: ASYNC110 - nobody says when it is
                await asyncio.sleep(0.1)
        yield port
    finally:
        process.terminate()
        await process.wait()


async def journal(port: int) -> list[dict[str, Any]]:
    """Return what it was asked and what it answered by, as it wrote it down."""
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(f"http://127.0.0.1:{port}/__aimock/journal")
        written: list[dict[str, Any]] = answer.json()
        return written
