"""What traces cost: processor time of `parley export` a call and second, its start left out.

It runs beside the gateway, in a process of its own; here it reads a log that is there already, and
a collector that says yes to everything takes what it sends.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench.metrics import CALL_MS, CALL_SECONDS, PASSED_MS, events
from gateway.observe.journal import Journal
from gateway.observe.settings import LogSettings

ALLOWED = 0.02


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


def export_seconds(path: Path, url: str) -> float:
    """Export a log; give the processor seconds of that."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "gateway", "export", "--otlp", url, "--all"]
    subprocess.run([*command, "--file", str(path)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Print what was measured; the exit status says whether it holds."""
    wrong = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Yes)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    with tempfile.TemporaryDirectory(prefix="parley-") as folder:
        empty = Path(folder) / "none.jsonl"
        written(empty, 0)
        start = min(export_seconds(empty, url) for _ in range(2))
        for calls in (25, 100):
            path = Path(folder) / f"{calls}.jsonl"
            written(path, calls)
            spent = export_seconds(path, url) - start
            each = 1000 * spent / (calls * CALL_SECONDS)
            print(
                f"{calls:4} calls of {CALL_SECONDS:.0f} s: traces {each:.4f} ms a call and second, "
                f"{each / CALL_MS:.2%} of a call with the models here, "
                f"{each / PASSED_MS:.2%} of one passed through"
            )
            if each > ALLOWED * CALL_MS:
                wrong.append(f"traces cost {each:.3f} ms a call and second")
    print(f"its start: {start:.2f} s")
    server.shutdown()
    for one in wrong:
        print(f"does not hold: {one}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
