"""The call log: one JSON line an event, written as things happen, by one thread.

Writing costs the loop a small object and a place in a queue; masking, JSON and the disk are the
thread's work.
The queue is bounded: past the bound lines are dropped, counted, and the count is written.
Lines that the disk refuses are kept, up to a bound too, and tried again.
Every line is handed to the system at once, so that killing the process loses the last few
milliseconds at most.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Literal, Protocol

import msgspec

from gateway.log_events import (
    CallEndedLogged,
    FaultLogged,
    LogDroppedLogged,
    LogEvent,
    LogLostLogged,
    RecoveredLogged,
    fields_of,
    name_of,
)
from gateway.observe.backlog import KEPT_BYTES, RETRY_SECONDS, Backlog, Trouble
from gateway.observe.call_names import CallNames, known_calls
from gateway.observe.courses import Courses
from gateway.observe.cutting import Cutting
from gateway.observe.files import LogFile, Sink, StandardOutput
from gateway.observe.privacy import Privacy
from gateway.observe.running import Running
from gateway.observe.settings import LogSettings
from gateway.observe.summary import Summary
from gateway.observe.tally import Tally
from gateway.observe.vocabulary import marks
from gateway.plumbing.starting import cannot_use
from gateway.plumbing.wire_json import plain

QUEUE_LINES = 20_000
"""A thousand calls at 20 lines a second each, for one second of a stuck disk; about 10 MB."""

BATCH_LINES = 500
"""Lines written by one system call when the disk lags behind."""

CLOSE_SECONDS = 5.0
"""The longest that ending waits for what is still queued."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line on its way to the thread."""

    wall: float
    call: str
    at: float
    event: LogEvent


class Reader(Protocol):
    """Is told every line as it is written."""

    def take(self, call: str, wall: float, at: float, event: LogEvent) -> None:
        """Take one line, on the log's own thread; must not wait for anything."""

    def close(self) -> None:
        """Take that there are no more lines."""


class CallLog:
    """Writes the lines of one call."""

    def __init__(self, journal: Journal, call: str, answered: float) -> None:
        self.call = call
        "what it is called in the log"
        self._journal = journal
        self._answered = answered

    def write(self, event: LogEvent, now: float | None = None) -> None:
        """Write one line; returns at once. `now` is the loop's time, where it is known."""
        self._journal.take(self.call, self._answered, event, now)


class Journal:
    """Owns the log file and the thread that writes it."""

    def __init__(
        self,
        settings: LogSettings,
        secrets: Iterable[str] = (),
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        sink: Sink | None = None,
        bound: int = QUEUE_LINES,
        kept: int = KEPT_BYTES,
        running: Running | None = None,
        readers: Sequence[Reader] = (),
        named: Callable[[str], None] = lambda name: None,
    ) -> None:
        """`named` is told what a call is called in the log, which nobody else may call another."""
        self._privacy = Privacy(settings.mask, secrets)
        self._clock = clock
        self._wall = wall
        sink = sink if sink is not None else open_sink(settings)
        self._backlog = Backlog(sink, clock, self._tell, kept)
        known = () if settings.path == "-" else known_calls(Path(settings.path))
        self._names = CallNames(known, named)
        self._readers = tuple(readers)
        self.tally = Tally()
        self._courses = Courses(running)
        self._bound = bound
        self._queue: SimpleQueue[_Line | threading.Event | None] = SimpleQueue()
        self._dropped = 0
        "lines that found the queue full and are not yet told of"
        self._told = 0
        self._closed = False
        self.process = CallLog(self, "", clock())
        "for what concerns no call; its lines have an empty `call` and count from the start"
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def bind(self, call_id: str, answered: float) -> CallLog:
        """Open the log of a call that was answered at `answered`, in loop seconds."""
        return CallLog(self, self._names.take(call_id), answered)

    def know(self, name: str) -> None:
        """Take that another process has a call of this name."""
        self._names.know(name)

    @property
    def dropped(self) -> int:
        """How many lines found the queue full, in all."""
        return self._dropped

    @property
    def backlog(self) -> Backlog:
        """What waits for the disk, and why; to look at."""
        return self._backlog

    def lost(self, call: str, summary: Summary, ended: CallEndedLogged) -> None:
        """Write the end of a call that another process had."""
        log = CallLog(self, call, self._clock() - summary.at)
        log.write(ended)
        log.write(summary.line(ended))

    def settle(self, seconds: float) -> bool:
        """Wait until everything so far is written; say whether it is."""
        mark = threading.Event()
        self._queue.put(mark)
        return mark.wait(seconds) and self._backlog.trouble is None

    def close(self) -> None:
        """Write what is queued, within a bound, and let the file go."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            self._thread.join(CLOSE_SECONDS)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take(self, call: str, answered: float, event: LogEvent, now: float | None = None) -> None:
        """Queue a line with the time it happened; from any thread."""
        if self._closed or self._queue.qsize() >= self._bound:
            self._dropped += 1
            return
        at = (self._clock() if now is None else now) - answered
        self._queue.put(_Line(self._wall(), call, at, event))

    # --- on the writing thread -----------------------------------------------------------------

    def _run(self) -> None:
        going_on = True
        while going_on:
            lines: list[_Line] = []
            line: _Line | threading.Event | Literal["again"] | None
            try:
                line = self._queue.get(timeout=RETRY_SECONDS if self._backlog.trouble else None)
            except Empty:
                line = "again"
            while isinstance(line, _Line):
                lines.append(line)
                # Nobody else takes from the queue, so that `empty` is no guess.
                if len(lines) >= BATCH_LINES or self._queue.empty():
                    break
                line = self._queue.get_nowait()
            going_on = line is not None
            self._write(lines)
            if isinstance(line, threading.Event):
                line.set()
        self._write([])
        self._backlog.close()
        self._courses.close()
        for reader in self._readers:
            reader.close()

    def _write(self, lines: list[_Line]) -> None:
        if (dropped := self._dropped) > self._told:
            lines.append(self._own(LogDroppedLogged(lines=dropped - self._told)))
            self._told = dropped
        whole = [each for line in lines for each in (line, *self._summed_up(line))]
        ends = [line for line in whole if isinstance(line.event, CallEndedLogged)]
        for line in whole:
            self.tally.take(line.call, line.event)
            for reader in self._readers:
                try:
                    reader.take(line.call, line.wall, line.at, line.event)
                except Exception as error:  # fence: the log is written, whatever others make of it
                    print(f"parley: a log line was not counted: {error!r}", file=sys.stderr)
            if not isinstance(line.event, CallEndedLogged):
                self._courses.note(line.call, line.event)
        self._backlog.write([self._render(line) for line in whole])
        for line in ends:  # only now: what is not in the log yet must be finished by the next one
            self._courses.note(line.call, line.event)

    def _summed_up(self, line: _Line) -> list[_Line]:
        told = self._courses.take(timestamp(line.wall), line.call, line.at, line.event)
        return [] if told is None else [_Line(line.wall, line.call, line.at, told)]

    def _tell(self, trouble: Trouble) -> list[bytes]:
        """Tell of a time in which nothing could be written."""
        stood = self._clock() - trouble.since
        events: list[LogEvent] = [
            FaultLogged(part="log", reason=trouble.reason, seconds=stood),
            RecoveredLogged(part="log"),
        ]
        if trouble.lost:
            events.append(LogLostLogged(lines=trouble.lost))
        return [self._render(self._own(event)) for event in events]

    def _own(self, event: LogEvent) -> _Line:
        return _Line(self._wall(), "", 0.0, event)

    def _render(self, line: _Line) -> bytes:
        event = line.event
        head = {
            "ts": timestamp(line.wall),
            "call": line.call,
            "at": round(line.at, 3),
            "event": name_of(event),
        }
        try:
            # The head comes first, and no field of an event takes its place.
            cutting = Cutting()
            fields = self._privacy.clean(cutting.line(fields_of(event)), marks(type(event)))
            missing = {"cut": list(cutting.cut)} if cutting.cut else {}
            return _JSON.encode(head | fields | missing | head) + b"\n"
        except BaseException as error:  # fence: what one line holds must not end the log
            return _JSON.encode(head | {"unwritable": type(error).__name__}) + b"\n"


_JSON = msgspec.json.Encoder(enc_hook=plain)


def timestamp(wall: float) -> str:
    """Write a wall-clock time as RFC 3339, in UTC, to the millisecond."""
    millis = round(wall * 1000)
    second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(millis // 1000))
    return f"{second}.{millis % 1000:03d}Z"


def open_sink(settings: LogSettings) -> Sink:
    """Open what the settings name."""
    if settings.path == "-":
        return StandardOutput()
    limit = int(settings.rotate_mb * 1_000_000)
    try:
        return LogFile(settings.path, limit, settings.keep, settings.group_reads)
    except OSError as error:
        raise cannot_use("log.path", settings.path, error) from None
