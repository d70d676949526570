"""Runs `parley goodput` as a process of its own, and reads what it printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.calls.gateway_process import ROOT
from bench.calls.speech import SPEECH, recordings
from gateway.goodput.curve import Point

MEAN_SECONDS = 30
"""Mean length of a call: as many arrive in that time as are there at once."""

SERVER_CORE, CALLERS_CORE = "0", "1"

LENGTH = f"exponential:{MEAN_SECONDS}"


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of a sweep."""

    points: Sequence[Point]
    valid: bool


def recorded(kinds: Sequence[str] = ("complete",)) -> list[str]:
    """Have callers say recorded English sentences."""
    names = [each.name for each in recordings(SPEECH, kinds)]
    paths = [next(SPEECH.rglob(name)) for name in names]
    return [argument for path in paths for argument in ("--say", str(path))]


def goodput(at_once: Sequence[int], arguments: Sequence[str], folder: Path) -> Measured:
    """Offer so many calls at once to a gateway by the `parley.toml` of a folder."""
    more = ["-c", "parley.toml", "--server-cores", SERVER_CORE, *arguments]
    return sweep(at_once, more, folder)


def sweep(at_once: Sequence[int], arguments: Sequence[str], folder: Path) -> Measured:
    """Offer so many calls at once, by these arguments; what is printed goes to the terminal."""
    rates = ",".join(f"{calls / MEAN_SECONDS:.4g}" for calls in at_once)
    command = [sys.executable, "-m", "gateway", "goodput", "--rates", rates, "--length", LENGTH]
    command += ["--cores", CALLERS_CORE, "--json", *arguments]
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, text=True, check=False, env=_environment()
    )
    if not done.stdout:
        raise RuntimeError(f"parley goodput ended with {done.returncode}")
    document = json.loads(done.stdout)
    points = msgspec.convert(document["points"], list[Point], strict=False)
    return Measured(points, document["valid"])


def _environment() -> dict[str, str]:

    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {"OPENAI_API_KEY": "none", **os.environ, "PYTHONPATH": path}
