"""Messages on standard error: one form for all, nothing secret, nothing personal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[3]

PROGRAM = """
import logging, structlog
from gateway.observe.diagnostics import speak
speak("info", ("correct horse battery",))
structlog.get_logger("call").info("listening", port=8080, text="hello there")
structlog.get_logger("call").debug("too quiet")
logging.getLogger("library").warning("refused %s", "correct horse battery")
logging.getLogger("httpx").info("GET /")
try:
    raise OSError("Bearer abcdefghijklmnopqrstuvw")
except OSError:
    structlog.get_logger("call").exception("broken")
"""


def test_everything_that_logs_comes_out_in_one_form() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, cwd=ROOT, check=True
    )
    listening, refused, broken = [msgspec.json.decode(each) for each in done.stderr.splitlines()]
    assert done.stdout == b""
    assert (listening["event"], listening["port"], listening["level"]) == (
        "listening",
        8080,
        "info",
    )
    assert listening["text"] == "[2 words]"
    assert refused["event"] == "refused [secret]"
    assert broken["exception"].endswith("OSError: [secret]")
