"""The call log: one JSON line an event, written as things happen, by one thread.

Writing costs the loop a dictionary and a place in a queue; masking, JSON and the disk are the
thread's work.
The queue is bounded: past the bound lines are dropped, counted, and the count is written.
Every line is handed to the system at once, so that killing the process loses the last few
milliseconds at most.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from queue import SimpleQueue
from typing import Any

import msgspec
import numpy as np
import structlog
from structlog.typing import EventDict, WrappedLogger

from gateway.config import LogSettings
from gateway.observe.files import LogFile, Sink, StandardOutput
from gateway.observe.privacy import Privacy
from gateway.plumbing.starting import cannot_use

QUEUE_LINES = 20_000
"""A thousand calls at 20 lines a second each, for one second of a stuck disk; about 10 MB."""

BATCH_LINES = 500
"""Lines written by one system call when the disk lags behind."""

CLOSE_SECONDS = 5.0
"""The longest that ending waits for what is still queued."""


class CallLog:
    """Writes the lines of one call."""

    def __init__(self, logger: Any, answered: float, clock: Callable[[], float]) -> None:
        self._logger = logger
        self._answered = answered
        self._clock = clock

    def write(
        self, event: str, fields: Mapping[str, object] | None = None, now: float | None = None
    ) -> None:
        """Write one line; returns at once. `now` is the loop's time, where it is known."""
        at = (self._clock() if now is None else now) - self._answered
        self._logger.info(event, at=at, fields=fields or {})


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
    ) -> None:
        self._privacy = Privacy(settings.mask, secrets)
        self._clock = clock
        self._wall = wall
        self._sink = sink if sink is not None else open_sink(settings)
        self._bound = bound
        self._queue: SimpleQueue[EventDict | None] = SimpleQueue()
        self._dropped = 0
        "lines that found the queue full and are not yet told of"
        self._told = 0
        self._lost = 0
        "lines the disk refused and are not yet told of"
        self._closed = False
        self._logger = structlog.wrap_logger(
            self,
            processors=[self._accept],
            wrapper_class=structlog.make_filtering_bound_logger("info"),
            context_class=dict,
        )
        self.process = CallLog(self._logger.bind(call=""), clock(), clock)
        "for what concerns no call; its lines have an empty `call` and count from the start"
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def bind(self, call_id: str, answered: float) -> CallLog:
        """Open the log of a call that was answered at `answered`, in loop seconds."""
        return CallLog(self._logger.bind(call=call_id), answered, self._clock)

    @property
    def dropped(self) -> int:
        """How many lines found the queue full, in all."""
        return self._dropped

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

    # --- on the caller's thread, for structlog -----------------------------------------------

    def _accept(self, _logger: WrappedLogger, _name: str, line: EventDict) -> EventDict:
        """Queue a line with the time it happened; the last processor, so nothing follows."""
        if self._closed or self._queue.qsize() >= self._bound:
            self._dropped += 1
        else:
            line["ts"] = self._wall()
            self._queue.put(line)
        raise structlog.DropEvent

    # --- on the writing thread -----------------------------------------------------------------

    def _run(self) -> None:
        line: EventDict | None = {}
        while line is not None:
            lines: list[EventDict] = []
            line = self._queue.get()
            while line is not None:
                lines.append(line)
                # Nobody else takes from the queue, so that `empty` is no guess.
                if len(lines) >= BATCH_LINES or self._queue.empty():
                    break
                line = self._queue.get_nowait()
            self._write(lines)
        self._write([])
        self._sink.close()

    def _write(self, lines: list[EventDict]) -> None:
        dropped = self._dropped
        if dropped > self._told:
            lines.append(self._own("log_dropped", {"lines": dropped - self._told}))
        if self._lost:
            lines.append(self._own("log_lost", {"lines": self._lost}))
        if not lines:
            return
        try:
            self._sink.write(b"".join(self._render(line) for line in lines))
        except OSError as error:
            if not self._lost:
                print(f"parley: the call log cannot be written: {error}", file=sys.stderr)
            self._lost += sum(line["event"] not in ("log_lost", "log_dropped") for line in lines)
        else:
            self._lost = 0
            self._told = dropped

    def _own(self, event: str, fields: Mapping[str, object]) -> EventDict:
        return {"call": "", "event": event, "at": 0.0, "fields": fields, "ts": self._wall()}

    def _render(self, line: EventDict) -> bytes:
        head = {
            "ts": timestamp(line["ts"]),
            "call": line["call"],
            "at": round(line["at"], 3),
            "event": line["event"],
        }
        try:
            # The head comes first, and no field of an event takes its place.
            return _JSON.encode(head | self._privacy.clean(line["fields"]) | head) + b"\n"
        except BaseException as error:  # fence: what one line holds must not end the log
            return _JSON.encode(head | {"unwritable": type(error).__name__}) + b"\n"


def _plain(value: object) -> object:
    """Give what JSON does not know as a number or as text: a log line is never refused."""
    if isinstance(value, np.generic):
        return value.item()
    return str(value)


_JSON = msgspec.json.Encoder(enc_hook=_plain)


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
