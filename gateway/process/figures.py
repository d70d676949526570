"""What of the metrics is looked at when somebody asks: how the process and its calls stand now."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version

import structlog
from cryptography import x509

from gateway.call.pacer import Pacer
from gateway.call.switchboard import Switchboard
from gateway.lines.port import Standing
from gateway.log_events import SCHEMA
from gateway.metrics import families as f
from gateway.metrics.page import Gauges
from gateway.metrics.series import Labels
from gateway.process.judging import Judge
from gateway.process.threads import processor_seconds
from inference.pool import Work, Workers

log = structlog.get_logger("metrics")

Values = dict[f.Family, Mapping[Labels, float]]


@dataclass(frozen=True, slots=True)
class Places:
    """Whom the figures are asked of."""

    switchboard: Switchboard
    pacer: Pacer
    judge: Judge
    standings: Callable[[], Mapping[str, Standing]]
    workers: Workers
    folders: Mapping[str, Path]
    "where something is written, by its setting"
    certificates: Mapping[str, Path]
    "by their setting"


class Figures:
    """Looks at one process."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._began = time.time()
        self._certificates: dict[Labels, float] = {
            (setting,): expiry
            for setting, path in places.certificates.items()
            if (expiry := expires(path)) is not None
        }

    async def look(self) -> Callable[[], Gauges]:
        """Take what the loop alone knows, and give what looks at the rest in a thread."""
        judged = await self._places.judge.judge()
        values = self._of_the_loop()
        values[f.PARTS] = {(part,): float(one.well) for part, one in judged.items()}
        return lambda: {**values, **self._of_the_system()}

    def _of_the_loop(self) -> Values:
        places = self._places
        board, late, standings = places.switchboard, places.pacer.lateness, places.standings()
        on = {name: each for name, each in standings.items() if each.state != "off"}
        calls = Counter(call.leg.info.line for call in board.calls)
        refusal = board.would_refuse()
        return {
            f.ACTIVE: {(name,): float(calls[name]) for name in {*on, *calls}},
            f.LIMIT: {(): float(board.limit)},
            f.TAKING: {(): float(refusal is None)},
            f.DRAINING: {(): float(refusal is not None and refusal.kind == "draining")},
            f.LINE_READY: {(name,): float(each.state == "ready") for name, each in on.items()},
            f.UNREGISTERED: {(name,): float(each.unregistered) for name, each in on.items()},
            f.TICKS: {(): float(late.ticks)},
            f.LATE_TICKS: {(): float(late.over_5_ms)},
            f.TASKS: {(): float(len(asyncio.all_tasks()))},
        }

    def _of_the_system(self) -> Values:
        files, sockets = _open_files()
        threads: dict[Labels, float] = {}
        for name, seconds in processor_seconds().items():
            kind = (re.sub(r"[-_]?\d+$", "", name),)
            threads[kind] = threads.get(kind, 0.0) + seconds
        work = dict(self._places.workers.work)
        disk: dict[Labels, float] = {
            (setting,): float(free)
            for setting, folder in self._places.folders.items()
            if (free := _free(folder)) is not None
        }
        return {
            f.MODEL_JOBS: _each(work, lambda one: float(one.jobs)),
            f.MODEL_WAIT: _each(work, lambda one: one.waited),
            f.MODEL_RUN: _each(work, lambda one: one.ran),
            f.CPU: threads,
            f.THREADS: {(): float(_thread_count())},
            f.SOCKETS: {(): float(sockets)},
            f.FILES: {(): float(files)},
            f.FILES_MOST: {(): float(resource.getrlimit(resource.RLIMIT_NOFILE)[0])},
            f.MEMORY: {(): float(_memory())},
            f.CPU_ALL: {(): time.process_time()},
            f.BEGAN: {(): self._began},
            f.DISK: disk,
            f.CERTIFICATE: self._certificates,
            f.BUILD: {(_version(), python_version(), str(SCHEMA)): 1.0},
        }


def expires(path: Path) -> float | None:
    """Return when the first certificate of a PEM file runs out, in seconds of the wall clock."""
    try:
        found = x509.load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError) as error:
        log.warning("certificate_unread", path=str(path), reason=str(error))
        return None
    # `not_valid_after_utc` came with cryptography 42; the older name has no zone and means UTC.
    return min(each.not_valid_after_utc.astimezone(UTC).timestamp() for each in found)


def _each(work: Mapping[str, Work], value: Callable[[Work], float]) -> Mapping[Labels, float]:
    found: dict[Labels, float] = {(model,): value(one) for model, one in work.items()}
    return found


def _open_files() -> tuple[int, int]:
    """Count open files, and the sockets among them; only Linux tells."""
    files = sockets = 0
    try:
        names = os.listdir("/proc/self/fd")
    except OSError:
        return 0, 0
    for name in names:
        try:
            sockets += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
        except OSError:  # closed since
            continue
        files += 1
    return files, sockets


def _thread_count() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 0


def _memory() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * resource.getpagesize()


def _free(folder: Path) -> int | None:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


def _version() -> str:
    try:
        return version("parley")
    except PackageNotFoundError:
        return "unknown"
