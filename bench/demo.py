"""One whole phone call, watched as it happens: what `make demo` runs.

The gateway runs as it would for anybody, on a free port; the caller is `parley call`, which speaks
Twilio's media stream and plays recorded human speech.
The exit status is 0 only if the call went well, and what that means is said line by line.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from rich.console import Console
from rich.text import Text

from bench.verdict import FarEnd, judge
from gateway.observe.lines import LogLine
from gateway.observe.live import watch

ROOT = Path(__file__).parent.parent
CALLER = ROOT / "tests/data/speech/demo/tel_ar40_caller"

START_SECONDS = 30.0
"""Models load in two seconds; on a busy machine in ten."""

CALL_SECONDS = 75.0
"""The call takes under a minute; what takes longer has gone wrong."""

STOP_SECONDS = 10.0

QUIET = "bright_black"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a demonstration keeps what it makes."""

    folder: Path

    @property
    def settings(self) -> Path:
        return self.folder / "parley.toml"

    @property
    def log(self) -> Path:
        return self.folder / "calls.jsonl"

    @property
    def messages(self) -> Path:
        return self.folder / "gateway.log"

    @property
    def far_end(self) -> Path:
        return self.folder / "caller.json"

    @property
    def recordings(self) -> list[Path]:
        return sorted((self.folder / "recordings").rglob("*.wav"))

    @property
    def appointments(self) -> Path:
        return self.folder / "data/workshop.sqlite"


SCRIPT: tuple[str, ...] = (
    "--parameter=customer=Siciliy",  # the dealer knows the number, so that no name is asked for
    "--silence=0.4",
    *("--say", f"{CALLER}_light.flac"),
    *("--say", f"{CALLER}_tesla.flac"),
    *("--say", f"{CALLER}_noises.flac"),
    *("--cut-in", f"{CALLER}_8to10.flac@3"),
    *("--say", f"{CALLER}_yeah.flac"),
    *("--say", f"{CALLER}_nomore.flac"),
)
"""What the caller does, as `parley call` is told; agents/workshop/ has the other side."""


def settings(port: int) -> str:
    """Write the settings of the gateway that is shown."""
    return f"""\
# Made by `make demo`; everything else is as it is without a file.
[server]
port = {port}

[agents]
folder = "{ROOT / "agents"}"
data = "data"

[log]
path = "calls.jsonl"

[recording]
enabled = true
folder = "recordings"
"""


def free_port() -> int:
    """Find a port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def gateway(place: Place, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run the gateway, ready to answer, and stop it in the orderly way."""
    command = [sys.executable, "-m", "gateway", "serve", "-c", str(place.settings)]
    with place.messages.open("wb") as messages:
        process = subprocess.Popen(command, stdout=messages, stderr=messages, cwd=ROOT)
    try:
        _await_port(process, port)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await_port(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until the gateway listens; raise RuntimeError where it ends or does not."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the gateway ended with status {process.returncode}")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"the gateway did not listen within {START_SECONDS:.0f} s")


@dataclass(slots=True)
class Caller:
    """The far end, in a process of its own, with its own clock and ears."""

    process: subprocess.Popen[bytes]
    heard: bytes = b""

    def listen(self) -> None:
        """Wait for the end of the call and take what the caller measured."""
        self.heard, _ = self.process.communicate()

    @property
    def gone(self) -> bool:
        return self.process.poll() is not None


def call(place: Place, port: int, console: Console) -> tuple[FarEnd, list[LogLine]]:
    """Place the call, print it as it happens, and give what both ends say of it."""
    command = [sys.executable, "-m", "gateway", "call", "--json", *SCRIPT]
    command.append(f"twilio:ws://127.0.0.1:{port}/twilio/stream")
    with place.messages.open("ab") as messages:
        caller = Caller(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=messages, cwd=ROOT)
        )
    listening = threading.Thread(target=caller.listen, daemon=True)
    listening.start()
    end = time.monotonic() + CALL_SECONDS
    lines = watch(place.log, console, gone=lambda: caller.gone or time.monotonic() > end)
    listening.join(STOP_SECONDS)
    if not caller.gone:
        caller.process.kill()
        listening.join(STOP_SECONDS)
    place.far_end.write_bytes(caller.heard)
    try:
        return msgspec.json.decode(caller.heard, type=FarEnd), lines
    except msgspec.DecodeError:
        raise RuntimeError(f"the caller said nothing of the call: {caller.heard[:200]!r}") from None


def show(place: Place, console: Console, heading: str) -> None:
    """Say where things are."""
    console.print()
    console.print(Text(heading, "bold"))
    rows = [("recording", path) for path in place.recordings]
    rows += [("call log", place.log), ("far end", place.far_end), ("messages", place.messages)]
    for name, path in rows:
        console.print(Text.assemble((f"  {name:<10} ", QUIET), short(path)))
    console.print(Text(f"  .venv/bin/parley report --file {short(place.log)}", QUIET))


def short(path: Path) -> str:
    """Return a path as a person would type it here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def main(arguments: Sequence[str] = ()) -> int:
    """Show one call; give 0 if it went well."""
    folder = Path(arguments[0]) if arguments else ROOT / "out/demo"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    place = Place(folder.resolve())
    console = Console(highlight=False)
    port = free_port()
    place.settings.write_text(settings(port))
    console.print("A recorded human caller phones the workshop, on Twilio's media stream.")
    try:
        with gateway(place, port) as process:
            far, lines = call(place, port, console)
        ended_well = process.returncode == 0
    except RuntimeError as error:
        console.print(Text(f"✗ {error}", "bold red"))
        for said in place.messages.read_text(errors="replace").splitlines()[-15:]:
            console.print(Text(f"  {said}", QUIET))
        return 1
    points = judge(far, lines, place.appointments, place.recordings, ended_well)
    for point in points:
        mark = ("✓", "green") if point.good else ("✗", "bold red")
        console.print(Text.assemble(mark, f" {point.said}"))
    good = all(point.good for point in points)
    show(place, console, "The call went well." if good else "The call did not go well.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
