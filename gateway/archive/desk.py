"""Answers questions about calls: reads the log, keeps the index, tells a call's story."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from gateway.archive import exports
from gateway.archive.day import DayAsked, day
from gateway.archive.questions import Asked, find, one
from gateway.archive.reading import Reading
from gateway.archive.records import Place
from gateway.archive.sound import Sounds
from gateway.archive.store import Store
from gateway.archive.story import Story, tell
from gateway.observe.lines import LogLine, parse

LARGEST_SOUND = 64_000_000
"""Bytes of a recording within an export: half an hour of a telephone call."""


class Places(msgspec.Struct, frozen=True):
    """Where things lie."""

    log: str
    index: str
    recordings: str = ""
    "empty: nothing is recorded"


class Desk:
    """One log's desk; lives on one thread of a process that has no calls."""

    def __init__(self, places: Places) -> None:
        self._store = Store(Path(places.index))
        self._reading = Reading(Path(places.log), self._store)
        self._sounds = Sounds(Path(places.recordings) if places.recordings else None)

    def read(self) -> bool:
        """Read a slice of the log; say whether there may be more."""
        return self._reading.read()

    @property
    def behind(self) -> int:
        """How many bytes of the log were not read yet."""
        return self._reading.behind

    def answer(self, question: str, given: dict[str, Any]) -> bytes:
        """Answer in JSON; raise ValueError for what cannot be asked, KeyError for no such call."""
        match question:
            case "calls":
                found = find(self._store, msgspec.convert(given, Asked, strict=False))
                document: Any = msgspec.structs.asdict(found)
                document |= {"version": self._reading.version, "behind": self._reading.behind}
            case "day":
                document = day(self._store, msgspec.convert(given, DayAsked))
            case "call":
                return self._page(given["call"])
            case "peaks":
                document = self._sounds.peaks(self._name(given["call"]))
            case "sound":
                path = self._sounds.path(self._name(given["call"]))
                document = None if path is None else str(path)
            case "labels":
                document = exports.labels(self._story(given["call"])[0])
            case "vcon":
                story = self._story(given["call"])[0]
                document = exports.vcon(story, self._sound(given["call"]))
            case "lines":
                document = [msgspec.Raw(raw) for raw in self._lines(given["call"])]
            case _:
                raise ValueError(f"nobody can be asked {question!r}")
        return msgspec.json.encode(document)

    def close(self) -> None:
        """Let the index go."""
        self._store.close()

    # --- inside ------------------------------------------------------------------------------

    def _row(self, call: str) -> tuple[Any, ...]:
        row = one(self._store, call)
        if row is None:
            raise KeyError(call)
        return row

    def _name(self, call: str) -> str:
        return str(self._row(call)[1])

    def _sound(self, call: str) -> bytes:
        """Return a recording as it goes into an export; empty: there is none, or it is too long."""
        path = self._sounds.path(self._name(call))
        if path is None or path.stat().st_size > LARGEST_SOUND:
            return b""
        return path.read_bytes()

    def _lines(self, call: str) -> list[bytes]:
        _, _, _, begin_file, begin_at, end_file, end_at = self._row(call)
        return list(self._reading.lines(call, Place(begin_file, begin_at), Place(end_file, end_at)))

    def _story(self, call: str) -> tuple[Story, list[bytes]]:
        lines = self._lines(call)
        return tell(call, filter(None, map(_parsed, lines))), lines

    def _page(self, call: str) -> bytes:
        story, lines = self._story(call)
        name = story.started.recording if story.started is not None else None
        return msgspec.json.encode(
            {
                "story": story,
                "sound": self._sounds.path(name or "") is not None,
                "lines": [msgspec.Raw(raw) for raw in lines],
                "version": self._reading.version,
            }
        )


def _parsed(raw: bytes) -> LogLine | None:
    try:
        return parse(raw)
    except ValueError:
        return None
