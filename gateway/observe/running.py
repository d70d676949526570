"""Which calls this process has, on the disk: what the next one finishes should it be killed.

Each process keeps a file of its own, locked for as long as it lives: a file that nobody locks was
left by a process that did not end in good order. Nothing personal is in it.
"""

from __future__ import annotations

import fcntl
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgspec

from gateway.log_events import CallEndedLogged, CallStartedLogged, DeedLogged, LogEvent
from media import private

LARGEST = 100_000
"""Bytes after which the file begins anew, once no call is in progress."""


class _Noted(msgspec.Struct, omit_defaults=True):
    call: str
    what: str
    "`begun`, `ended`, `deed` or `over`"
    key: str = ""
    name: str = ""
    "of the recording, or of the tool"


@dataclass(slots=True)
class LostCall:
    """A call that was in progress when its process was lost."""

    call: str
    recording: str = ""
    deeds: dict[str, str] = field(default_factory=dict)
    "keys of writes that were under way, with the tool's name"


@dataclass(frozen=True, slots=True)
class Left:
    """What one lost process left: locked until `close`, so that it is finished once."""

    path: Path
    file: BinaryIO
    calls: list[LostCall]

    def close(self, finished: bool) -> None:
        """Let it go, for good where its calls are finished."""
        if finished:
            self.path.unlink(missing_ok=True)
        self.file.close()


class Running:
    """This process's file, and those that others left."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError."""
        private.make_folder(folder)
        self._folder = folder
        name = f"{os.getpid()}-{time.time_ns()}"
        making, self._path = folder / f"{name}.new", folder / f"{name}.jsonl"
        self._file = private.open_file(making, os.O_WRONLY | os.O_APPEND | os.O_EXCL)
        fcntl.flock(self._file, fcntl.LOCK_EX)  # before it has the name that others look for
        making.rename(self._path)
        self._calls: set[str] = set()

    def note(self, call: str, event: LogEvent) -> None:
        """Note the beginning of a call or a deed before it is logged, and an end afterwards.

        Raises OSError.
        """
        match event:
            case CallStartedLogged(recording=recording):
                self._calls.add(call)
                self._write(_Noted(call, "begun", name=recording or ""))
            case CallEndedLogged() if call in self._calls:
                self._calls.discard(call)
                self._write(_Noted(call, "ended"))
            case DeedLogged(state="begun", key=key, name=name):
                self._write(_Noted(call, "deed", key, name))
            case DeedLogged(key=key):
                self._write(_Noted(call, "over", key))
            case _:
                pass

    def left(self) -> list[Left]:
        """Return what lost processes left: each file, with the calls that were in progress."""
        found: list[Left] = []
        for path in sorted(self._folder.glob("*.jsonl")):
            if path == self._path:
                continue
            try:
                file = path.open("rb")
            except OSError:  # another has finished it meanwhile
                continue
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                found.append(Left(path, file, _calls(file.read() if path.exists() else b"")))
            except OSError:  # its process lives, or another is at it
                file.close()
        return found

    def close(self) -> None:
        """End in good order: nothing is left to finish, unless calls were cut off."""
        if not self._calls:
            self._path.unlink(missing_ok=True)
        os.close(self._file)

    def _write(self, noted: _Noted) -> None:
        if not self._calls and os.fstat(self._file).st_size > LARGEST:
            os.ftruncate(self._file, 0)
        os.write(self._file, msgspec.json.encode(noted) + b"\n")


def _calls(content: bytes) -> list[LostCall]:
    """Read what calls were in progress; a line that was not written whole was not acted on."""
    calls: dict[str, LostCall] = {}
    for raw in content.splitlines():
        try:
            noted = msgspec.json.decode(raw, type=_Noted)
        except msgspec.DecodeError:
            continue
        match noted.what:
            case "begun":
                calls[noted.call] = LostCall(noted.call, noted.name)
            case "ended":
                calls.pop(noted.call, None)
            case "deed" if noted.call in calls:
                calls[noted.call].deeds[noted.key] = noted.name
            case "over" if noted.call in calls:
                calls[noted.call].deeds.pop(noted.key, None)
            case _:
                pass
    return list(calls.values())
