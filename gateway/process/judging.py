"""Judges what a process stands on: log, recordings, models, open files, disk, lines."""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gateway.lines.port import Standing
from gateway.observe.backlog import Backlog
from gateway.observe.journal import Journal
from media.recording import Recorder

FREE_BYTES = 200_000_000
"""Less room than this is told: an hour of twenty recorded telephone calls takes more."""

FILES_SHARE = 0.9
"""Share of the open files a process may have at which it is told that they run out."""

PATIENCE = 2.0
"""Seconds that a disk has to answer; one that does not is no disk to rely on."""

FRESH_SECONDS = 1.0
"""How long a judgement holds: whoever asks more often gets the same again."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """How one part does."""

    well: bool
    said: str
    "in a few words"


@dataclass(frozen=True, slots=True)
class Watched:
    """What is looked at; each is asked when it is judged."""

    journal: Journal
    recorder: Recorder | None
    "None: nothing is recorded"
    standings: Callable[[], Mapping[str, Standing]]
    folders: Mapping[str, Path]
    "where something is written, by its setting"


class Judge:
    """Looks at every part, at most once a second."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._last: dict[str, Judgement] = {}
        self._until = 0.0

    @property
    def latest(self) -> Mapping[str, Judgement]:
        """The last judgement, however old."""
        return self._last

    async def judge(self) -> Mapping[str, Judgement]:
        """Say of each part how it does."""
        now = asyncio.get_running_loop().time()
        if now >= self._until:
            self._until = now + FRESH_SECONDS
            self._last = {**self._quick(), "disk": await self._disk()}
        return self._last

    def _quick(self) -> dict[str, Judgement]:
        watched = self._watched
        return {
            "log": _log(watched.journal.backlog),
            "recordings": _recordings(watched.recorder),
            "models": _models(watched.journal.tally.failing),
            "descriptors": descriptors(),
            "ports": _ports(watched.standings()),
        }

    async def _disk(self) -> Judgement:
        try:
            async with asyncio.timeout(PATIENCE):
                return await asyncio.to_thread(room, self._watched.folders)
        except TimeoutError:
            return Judgement(False, f"does not answer within {PATIENCE:.0f} s")


def _log(backlog: Backlog) -> Judgement:
    trouble = backlog.trouble
    if trouble is None:
        lost = f"; {backlog.lost} lines were lost" if backlog.lost else ""
        return Judgement(True, f"written{lost}")
    return Judgement(
        False, f"{trouble.reason}: {backlog.kept} lines are kept, {trouble.lost} are lost"
    )


def _recordings(recorder: Recorder | None) -> Judgement:
    if recorder is None:
        return Judgement(True, "off")
    if not recorder.running:
        return Judgement(False, "nothing is written: the recorder is not running")
    troubles = recorder.troubles
    if not troubles:
        return Judgement(True, "written")
    return Judgement(False, f"{len(troubles)} cannot be written: {troubles[0]}")


def _models(failing: Mapping[str, int]) -> Judgement:
    if not failing:
        return Judgement(True, "working")
    said = (
        f"{part} fails in {count} call{'s' * (count != 1)}"
        for part, count in sorted(failing.items())
    )
    return Judgement(False, ", ".join(said))


def _ports(standings: Mapping[str, Standing]) -> Judgement:
    notes = {name: each.said for name, each in standings.items() if each.state == "note"}
    ready = [name for name, each in standings.items() if each.state == "ready"]
    if notes:
        return Judgement(False, "; ".join(f"{name}: {said}" for name, said in notes.items()))
    return Judgement(True, f"ready: {', '.join(ready) or 'none'}")


def descriptors() -> Judgement:
    """Judge how many files this process may still open."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    try:
        count = len(os.listdir("/proc/self/fd"))
    except FileNotFoundError:  # no Linux
        return Judgement(True, f"{limit} may be open")
    except OSError as error:
        return Judgement(False, f"{error.strerror}: {limit} may be open")
    return Judgement(count < FILES_SHARE * limit, f"{count} of {limit} are open")


def room(folders: Mapping[str, Path]) -> Judgement:
    """Judge how much may still be written, where something is."""
    short: list[str] = []
    for setting, folder in folders.items():
        there = folder
        while not there.exists() and there != there.parent:
            there = there.parent
        found = os.statvfs(there)
        free = found.f_bavail * found.f_frsize
        if free < FREE_BYTES:
            short.append(f"{setting}: {free // 1_000_000} MB left at {there}")
        elif found.f_files and not found.f_favail:
            short.append(f"{setting}: no more files can be made at {there}")
        elif not os.access(there, os.W_OK | os.X_OK):
            short.append(f"{setting}: {there} cannot be written")
    return Judgement(not short, "; ".join(short) or "has room")
