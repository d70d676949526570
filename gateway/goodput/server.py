"""A gateway of one's own to be measured: a process, started and stopped here."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gateway.plumbing.wire_json import parse

START_SECONDS = 90.0
"""Models load in two seconds; on a busy machine in thirty."""

STOP_SECONDS = 30.0


class ServerFailed(Exception):
    """The gateway did not start."""


@contextmanager
def own_server(arguments: Sequence[str], cores: Collection[int]) -> Iterator[tuple[int, str]]:
    """Run `parley serve` with these arguments until the end; raise ServerFailed.

    Gives its process and its address, `http://host:port`.

    `cores` are those that it may use; none: all.
    """
    command = [sys.executable, "-m", "gateway", "serve", "--port", "0", *arguments]
    with tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(command, stdout=messages, stderr=messages)
        try:
            if cores:
                os.sched_setaffinity(process.pid, cores)
            yield process.pid, _address(process, messages.fileno())
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(process: subprocess.Popen[bytes], messages: int) -> str:
    """Wait until it says where it listens."""
    until = time.monotonic() + START_SECONDS
    said = b""
    while time.monotonic() < until:
        ended = process.poll() is not None
        said = os.pread(messages, 1_000_000, 0)
        for raw in said.splitlines():
            if b'"listening"' in raw:
                return str(parse(raw)["address"])
        if ended:
            break
        time.sleep(0.05)
    last = said.decode(errors="replace").strip().splitlines()[-3:]
    raise ServerFailed("the gateway did not start: " + " | ".join(last))


def log_of(path: str) -> Path | None:
    """Return where a gateway keeps its call log; None where that is its standard output."""
    return None if path == "-" else Path(path)
