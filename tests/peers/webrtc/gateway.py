"""A whole gateway in a process of its own, as it is served to browsers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.doors.owner import Owner, proof
from gateway.observe.lines import LogLine, parse
from tests.support.owner import OWNER

ROOT = Path(__file__).parents[3]
KEY = "a key for the site's own server"

CLEAN_SECONDS = 15.0
"""After which nothing is left of a call, however it ended."""

START_SECONDS = 90.0
"""Models load in two seconds; on a busy machine in twenty."""


@dataclass
class Gateway:
    """A running gateway, seen from outside."""

    folder: Path
    prefix: Sequence[str] = ()
    "put in front of the command, to run it in another network"
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    url: str = ""

    @property
    def link(self) -> str:
        """Its page, as the owner opens it."""
        return Owner(OWNER, "").link(self.url)

    @property
    def log(self) -> Path:
        """Its call log."""
        return self.folder / "logs/calls.jsonl"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        messages = self.folder / "gateway.log"
        with messages.open("ab") as output:
            self.process = subprocess.Popen(
                [*self.prefix, sys.executable, "-m", "gateway", "serve", "-c", "parley.toml"],
                cwd=self.folder,
                env={**os.environ, "PARLEY_API_KEY": KEY, "PYTHONPATH": str(ROOT)},
                stderr=output,
                stdout=output,
            )
        until = time.monotonic() + START_SECONDS
        while not (said := _listening(messages)):
            assert self.process.poll() is None, messages.read_text()
            assert time.monotonic() < until, "the gateway did not start in time"
            time.sleep(0.05)
        # Named as the page in a browser on this machine names it.
        self.url = said.replace("127.0.0.1", "localhost")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def kill(self) -> None:
        """End it without a word, as a machine that fails."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        settings = self.folder / "parley.toml"
        port = self.url.rpartition(":")[2]
        settings.write_text(settings.read_text().replace("port = 0", f"port = {port}"))
        (self.folder / "gateway.log").rename(self.folder / f"gateway-{time.time():.3f}.log")

    def pause(self) -> None:
        """Let it stand still, as a machine that swaps or is suspended."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it run again."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def lines(self, call: str = "") -> list[LogLine]:
        """Read the call log so far, of one call or of all."""
        if not self.log.exists():
            return []
        whole = self.log.read_bytes().rpartition(b"\n")[0]
        found = [parse(raw) for raw in whole.splitlines()]
        return [line for line in found if line.call and call in ("", line.call)]

    def calls(self) -> list[str]:
        """Return the calls in the log, in their order."""
        return list(dict.fromkeys(line.call for line in self.lines()))

    def health(self) -> dict[str, Any]:
        """Ask how it is."""
        url = f"{self.url}/healthz"
        asking = urllib.request.Request(url, headers=proof(url))
        with urllib.request.urlopen(asking, timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def wait_for(self, event: str, call: str = "", seconds: float = 20.0) -> LogLine:
        """Return the first line of that event, waiting for it."""
        found: list[LogLine] = []

        def look() -> bool:
            found[:] = [line for line in self.lines(call) if line.event == event]
            return bool(found)

        wait(look, seconds, f"no {event} in the call log")
        return found[0]

    def messages(self) -> str:
        """Return what it said of itself."""
        return (self.folder / "gateway.log").read_text()

    def is_clean(self) -> bool:
        """Say that no call is left, and no socket of one."""
        return self.health()["calls"] == 0 and not self.ports()

    def ports(self) -> set[int]:
        """Return the UDP ports that are open: each call has one."""
        assert self.process is not None
        # Not psutil's: in another network it would look into this one.
        there = Path(f"/proc/{self.process.pid}")
        held = {os.readlink(one) for one in (there / "fd").iterdir() if one.is_symlink()}
        rows = [row.split() for row in (there / "net/udp").read_text().splitlines()[1:]]
        return {int(row[1].partition(":")[2], 16) for row in rows if f"socket:[{row[9]}]" in held}


def wait(holds: Callable[[], object], seconds: float, said: str | Callable[[], str]) -> None:
    """Wait in real time until something holds; `said` tells of what does not."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, said if isinstance(said, str) else said()
        time.sleep(0.05)


@contextmanager
def gateway(
    folder: Path, settings: str = "", prefix: Sequence[str] = (), host: str = "127.0.0.1"
) -> Iterator[Gateway]:
    """Serve with `settings` (TOML) on a free port."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "parley.toml").write_text(
        f'[server]\nhost = "{host}"\nport = 0\ndrain = 1\n[agents]\nfolder = "{ROOT / "agents"}"\n'
        + settings
    )
    served = Gateway(folder, prefix)
    served.start()
    try:
        yield served
    finally:
        served.stop()


def _listening(messages: Path) -> str:
    for line in messages.read_text(errors="replace").splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if said.get("event") == "listening":
            return str(said["address"])
    return ""
