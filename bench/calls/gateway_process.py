"""A gateway of its own for a measurement: a process in a folder that is thrown away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.doors.owner import proof
from gateway.log_events import CallEndedLogged
from gateway.observe.lines import LogLine, parse

ROOT = Path(__file__).parents[2]

START_SECONDS = 60.0
"""Models load in two seconds; on a busy machine in twenty."""

STOP_SECONDS = 20.0


@dataclass(slots=True)
class GatewayProcess:
    """A running gateway, seen from outside."""

    process: subprocess.Popen[bytes]
    folder: Path
    address: str = ""
    "`http://host:port`"
    _seen: int = field(default=0, repr=False)

    @property
    def target(self) -> str:
        """Where `parley call` finds it."""
        return f"twilio:{self.address.replace('http', 'ws')}/twilio/stream"

    @property
    def log(self) -> Path:
        """Its call log."""
        return self.folder / "calls.jsonl"

    @property
    def messages(self) -> Path:
        """What it says of itself."""
        return self.folder / "gateway.log"

    @property
    def recordings(self) -> Path:
        """Where it records, if it does."""
        return self.folder / "recordings"

    def lines(self, call: str = "") -> list[LogLine]:
        """Read the call log so far, all of it or that of one call."""
        if not self.log.exists():
            return []
        whole = self.log.read_bytes().rpartition(b"\n")[0]
        found = [parse(raw) for raw in whole.splitlines()]
        return [line for line in found if not call or line.call == call]

    def ended(self, call: str, seconds: float = 8.0) -> list[LogLine]:
        """Return a call's lines, once its last one is there or `seconds` have passed."""
        until = time.monotonic() + seconds
        while True:
            lines = self.lines(call)
            if (
                any(isinstance(line.told, CallEndedLogged) for line in lines)
                or time.monotonic() > until
            ):
                return lines
            time.sleep(0.05)

    def health(self) -> dict[str, Any]:
        """Ask the gateway how it is."""
        url = f"{self.address}/healthz"
        asking = urllib.request.Request(url, headers=proof(url))
        with urllib.request.urlopen(asking, timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def stop(self, number: signal.Signals = signal.SIGTERM, seconds: float = STOP_SECONDS) -> int:
        """Send a signal and wait for the end; give the exit status."""
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def await_address(self) -> None:
        """Wait until it says where it listens; raise RuntimeError if it does not."""
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            if self.process.poll() is not None:
                break
            for raw in self.messages.read_bytes().splitlines():
                if b'"listening"' in raw:
                    self.address = str(json.loads(raw)["address"])
                    return
            time.sleep(0.02)
        said = self.messages.read_text(errors="replace")[-2000:]
        raise RuntimeError(f"the gateway did not start ({self.process.poll()}):\n{said}")


def settings_text(
    sections: Mapping[str, Mapping[str, object]] | None = None, agents: Path | None = None
) -> str:
    """Write a settings file: the defaults, but for what keeps a measurement to its own folder."""
    chosen: dict[str, dict[str, object]] = {
        "server": {"port": 0, "drain": 5.0},
        "agents": {"folder": str(agents or ROOT / "agents"), "data": "data"},
        "log": {"path": "calls.jsonl"},
        "recording": {"folder": "recordings"},
    }
    for name, values in (sections or {}).items():
        chosen.setdefault(name, {}).update(values)
    lines: list[str] = []
    for name, values in chosen.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


@contextmanager
def gateway(
    sections: Mapping[str, Mapping[str, object]] | None = None,
    *,
    agents: Path | None = None,
    folder: Path | None = None,
    prefix: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Iterator[GatewayProcess]:
    """Run a gateway on a free port, ready to answer; end it, by force if need be, at the end.

    `prefix` comes before the command (`taskset -c 0`); its secrets come from `environment` alone.
    """
    with tempfile.TemporaryDirectory(prefix="parley-") as own:
        place = folder or Path(own)
        (place / "parley.toml").write_text(settings_text(sections, agents))
        command = [*prefix, sys.executable, "-m", "gateway", "serve"]
        command += ["-c", str(place / "parley.toml")]
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("TWILIO_")}
        with (place / "gateway.log").open("wb") as messages:
            process = subprocess.Popen(
                command,
                stdout=messages,
                stderr=messages,
                cwd=ROOT,
                env={**inherited, **(environment or {})},
            )
        running = GatewayProcess(process, place)
        try:
            running.await_address()
            yield running
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
