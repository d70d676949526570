"""What traces cost: processor time of `parley export` a call and second, its start left out.

It runs beside the gateway, in a process of its own, and follows the log; here the lines of calls at
once come at their pace, and a collector that says yes to everything takes what it sends.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench.metrics import CALL_MS, CALL_SECONDS, PASSED_MS, events
from gateway.commands.export import LOOK_SECONDS
from gateway.observe.journal import Journal
from gateway.observe.settings import LogSettings

ALLOWED = 0.02

STEP = 0.1
"""Seconds between two writes to the log."""

SETTLE_SECONDS = 2.0
"""After so long without any work a process has begun."""


class _Yes(BaseHTTPRequestHandler):
    """Takes everything."""

    def do_POST(self) -> None:
        """Take one batch."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def written(path: Path, calls: int) -> None:
    """Write the log of so many calls."""
    with Journal(LogSettings(path=str(path), rotate_mb=1000), bound=1_000_000) as journal:
        path.touch()
        for number in range(calls):
            log, story = journal.bind(f"call-{number}", 0.0), events(number)
            for place, event in enumerate(story):
                log.write(event, place * CALL_SECONDS / len(story))


def processor_seconds(process: int) -> float:
    """Return how much of the processor a process of one thread has had."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9


def started(process: int) -> float:
    """Wait until a process has begun and waits; return its processor seconds up to there."""
    before = -1.0
    while (now := processor_seconds(process)) > before + 0.001:
        before = now
        time.sleep(SETTLE_SECONDS)
    return now


def follow(lines: Sequence[bytes], path: Path, url: str) -> tuple[float, float]:
    """Export a log while the lines come at their pace; give the processor seconds, and a start's"""
    command = [sys.executable, "-m", "gateway", "export", "--otlp", url, "--file", str(path)]
    path.touch()
    with subprocess.Popen(command) as exporting, path.open("ab", buffering=0) as log:
        start = started(exporting.pid)
        begun, steps = time.monotonic(), round(CALL_SECONDS / STEP)
        for step in range(steps):
            log.write(
                b"".join(lines[len(lines) * step // steps : len(lines) * (step + 1) // steps])
            )
            time.sleep(max(0.0, begun + (step + 1) * STEP - time.monotonic()))
        time.sleep(2 * LOOK_SECONDS)  # until the last turns are sent
        spent = processor_seconds(exporting.pid) - start
        exporting.terminate()
    return spent, start


def main() -> int:
    """Print what was measured; the exit status says whether it holds."""
    wrong = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Yes)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    start = 0.0
    with tempfile.TemporaryDirectory(prefix="parley-") as folder:
        for calls in (25, 100):
            path = Path(folder) / f"{calls}.jsonl"
            written(path, calls)
            lines = path.read_bytes().splitlines(keepends=True)
            lines.sort(key=lambda line: float(json.loads(line)["at"]))  # as calls at once write
            spent, start = follow(lines, Path(folder) / f"{calls}-followed.jsonl", url)
            each = 1000 * spent / (calls * CALL_SECONDS)
            print(
                f"{calls:4} calls of {CALL_SECONDS:.0f} s: traces {each:.4f} ms a call and second, "
                f"{each / CALL_MS:.2%} of a call with the models here, "
                f"{each / PASSED_MS:.2%} of one passed through"
            )
            if each > ALLOWED * PASSED_MS:
                wrong.append(f"traces cost {each:.3f} ms a call and second, with {calls} calls")
    print(f"its start: {start:.2f} s")
    server.shutdown()
    for one in wrong:
        print(f"does not hold: {one}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
