"""What the machine is, and what its processes use: read from Linux, nothing else is asked."""

from __future__ import annotations

import os
import platform
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Machine:
    """Where the callers run."""

    cores: int
    "of the machine"
    kernel: str
    processor: str
    python: str
    open_files: int
    "that this process may have"
    callers_cores: tuple[int, ...]
    "that this process may use"


def machine() -> Machine:
    """Look at the machine."""
    return Machine(
        os.cpu_count() or 1,
        f"{platform.system()} {platform.release()}",
        _processor(),
        platform.python_version(),
        resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        tuple(sorted(os.sched_getaffinity(0))),
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def processor_seconds(process: int) -> float:
    """Return what a process and those that it has started have used; raise OSError if it is gone.

    The kernel counts in hundredths of a second.
    """
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    used = (int(fields[11]) + int(fields[12])) / _TICK
    return used + sum(processor_seconds(child) for child in _children(process))


def _children(process: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def allow_files() -> None:
    """Raise this process's limit of open files as far as it may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def cores_of(process: int) -> frozenset[int]:
    """Return the cores that a process (0: this one) is kept to; none: it is gone."""
    try:
        return frozenset(os.sched_getaffinity(process))
    except OSError:
        return frozenset()


def pin(cores: Sequence[int]) -> None:
    """Keep this process to some cores; none: to those that it has."""
    if cores:
        os.sched_setaffinity(0, cores)
