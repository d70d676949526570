"""A whole gateway with the shipped agent behind it, and what it wrote of each call."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class CallLog:
    """The call log's lines of the calls to one number."""

    path: Path
    number: str

    def lines(self, event: str) -> list[dict[str, Any]]:
        """Return the lines of a kind."""
        if not self.path.exists():
            return []
        every = [json.loads(line) for line in self.path.read_text().splitlines()]
        calls = {line["call"] for line in every if line.get("to") == self.number}
        return [line for line in every if line["event"] == event and line["call"] in calls]

    async def wrote(self, event: str, times: int = 1, **having: str) -> None:
        """Wait for so many lines of a kind in which fields have certain values."""
        try:
            async with asyncio.timeout(30):
                while self.count(event, **having) < times:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"{self.number}: {times} times {event!r} never came") from None

    def count(self, event: str, **having: str) -> int:
        """Count the lines of a kind in which fields have certain values."""
        return sum(having.items() <= line.items() for line in self.lines(event))

    def texts(self, event: str) -> str:
        """Return what was said in the lines of a kind."""
        return " ".join(line["text"] for line in self.lines(event))


@dataclass(frozen=True)
class Gateway:
    """A running `parley serve`."""

    ports: dict[str, int]
    "by transport"
    folder: Path

    def log(self, number: str) -> CallLog:
        """Return the log of the calls to a number."""
        return CallLog(self.folder / "calls.jsonl", number)

    def recording(self, number: str) -> Path:
        """Return the gateway's own recording of the only call to a number."""
        (started,) = self.log(number).lines("call_started")
        return self.folder / "recordings" / f"{started['call']}.wav"


@asynccontextmanager
async def service(folder: Path, pem: Path) -> AsyncIterator[Gateway]:
    """Serve the shipped agent over SIP, with every call recorded."""
    (folder / "parley.toml").write_text(
        f'server.port = 0\nlog.path = "calls.jsonl"\n'
        f'[agents]\nfolder = "{ROOT / "agents"}"\n'
        '[recording]\nenabled = true\nfolder = "recordings"\n'
        '[sip]\nenabled = true\nhost = "127.0.0.1"\nallow = ["127.0.0.0/8"]\n'
        f'udp = 0\ntcp = 0\ntls = 0\ncertificate = "{pem}"\nauthorities = "{pem}"\n'
    )
    said = folder / "serve.log"
    with said.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gateway", "serve", "-c", str(folder / "parley.toml")),
            stdout=log,
            stderr=log,
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        try:
            async with asyncio.timeout(60):
                while '"listening"' not in said.read_text(errors="replace"):
                    assert process.returncode is None, said.read_text()
                    await asyncio.sleep(0.1)
            yield Gateway(_ports(said), folder)
        finally:
            if process.returncode is None:
                process.terminate()
            try:
                async with asyncio.timeout(10):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


def _ports(said: Path) -> dict[str, int]:
    """Read from the gateway's messages where it listens."""
    lines = [json.loads(line) for line in said.read_text().splitlines() if line.startswith("{")]
    return {one["transport"]: one["port"] for one in lines if one["event"] == "sip_listening"}


def words(files: Sequence[Path]) -> list[str]:
    """Recognise recordings with the gateway's own recogniser."""
    done = subprocess.run(
        [sys.executable, "-m", "gateway", "transcribe", "--json", *map(str, files)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return [str(json.loads(line)["text"]).lower() for line in done.stdout.splitlines()]
