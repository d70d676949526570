"""How much of the processor each thread has had, as far as the system tells."""

from __future__ import annotations

import sys
import threading
from pathlib import Path


def processor_seconds() -> dict[str, float]:
    """Return the processor seconds of each thread by its name; those of one name are added up.

    Only Linux tells; elsewhere all are 0.
    """
    found: dict[str, float] = {}
    for name, seconds in by_thread().values():
        found[name] = found.get(name, 0.0) + seconds
    return {name: round(seconds, 3) for name, seconds in found.items()}


def by_thread() -> dict[int, tuple[str, float]]:
    """Return the name and the processor seconds of each thread by the system's number of it."""
    threads = [(each.native_id, each.name) for each in threading.enumerate()]
    return {number: (name, _seconds(number)) for number, name in threads if number is not None}


def at_work(before: dict[int, tuple[str, float]], seconds: float) -> list[str]:
    """Name the threads that had at least so much of the processor since, or that are gone."""
    now = by_thread()
    found = []
    for number, (name, had) in before.items():
        if number not in now or now[number][1] - had >= seconds:
            found.append(name)
    fresh = [name for number, (name, had) in now.items() if number not in before and had >= seconds]
    return found + fresh


def _seconds(thread: int) -> float:
    if sys.platform != "linux":
        return 0.0
    try:
        # Linux, Documentation/scheduler/sched-stats: the first number is nanoseconds on a core.
        return int(Path(f"/proc/self/task/{thread}/schedstat").read_text().split()[0]) / 1e9
    except (OSError, IndexError):
        return 0.0  # it has ended since
