"""What must hold after faults: the log whole, recordings readable, and what is held flat."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression

import soundfile

from bench.calls.gateway_process import GatewayProcess
from bench.calls.load import memory
from gateway.observe.lines import LogLine, parse

FLAT = {"memory": 20.0, "descriptors": 5.0, "threads": 2.0}
"""By how much (memory in MB) the line through the second half may rise, from end to end."""


@dataclass(slots=True)
class Holdings:
    """What a process without calls holds."""

    memory: float
    descriptors: int
    threads: int

    @classmethod
    def of(cls, running: GatewayProcess) -> Holdings:
        """Look at a process."""
        place = Path(f"/proc/{running.process.pid}")
        files, threads = len(os.listdir(place / "fd")), len(os.listdir(place / "task"))
        return cls(memory(running), files, threads)


def log_lines(folder: Path) -> tuple[list[LogLine], int]:
    """Read every line of every file of the log, and count those that are torn."""
    found, torn = [], 0
    for path in sorted(folder.glob("calls.jsonl*")):
        if path.suffix == ".lock" or path.name.endswith(".lock.kept"):
            continue
        for raw in path.read_bytes().splitlines():
            try:
                found.append(parse(raw))
            except ValueError:
                torn += 1
    return found, torn


def rise(values: Sequence[float]) -> float:
    """Return by how much a line through values rises from the first to the last of them."""
    return linear_regression(range(len(values)), values).slope * (len(values) - 1)


def growth(held: Sequence[Holdings]) -> dict[str, float]:
    """Return by how much what is held rises over the second half of the parts."""
    late = held[len(held) // 2 :]
    return {name: rise([float(getattr(each, name)) for each in late]) for name in FLAT}


def problems(folder: Path) -> list[str]:
    """Say what does not hold of a log and its recordings."""
    lines, torn = log_lines(folder / "log")
    begun = Counter(line.call for line in lines if line.event == "call_started")
    ended = Counter(line.call for line in lines if line.event == "call_ended")
    found = [f"{torn} lines of the log are torn"] if torn else []
    found += [f"{call} has no end in the log" for call in begun if not ended[call]]
    found += [f"{call} ended {n} times" for call, n in ended.items() if n > 1]
    for path in (folder / "recordings").rglob("*.wav"):
        try:
            soundfile.info(path)
        except soundfile.LibsndfileError as error:
            found.append(f"{path.name} cannot be read: {error}")
    return found


def uneven(folder: Path, held: Sequence[Holdings], lines: Sequence[str]) -> list[str]:
    """Say which lines had no call, and what of that which is held is not flat."""
    begun = [line for line in log_lines(folder / "log")[0] if line.event == "call_started"]
    used = {str(line.fields["line"]) for line in begun}
    found = [f"no call on {missing}" for missing in sorted(set(lines) - used)]
    found += [
        f"{name} rise by {rises:.1f} over the second half"
        for name, rises in growth(held).items()
        if rises > FLAT[name]
    ]
    return found
