"""Posts events of calls, from a thread of its own.

An event leaves the disk when the receiver has said that it took it: one that dies in between gets
it again, with the same id.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import httpx
import structlog

from gateway.log_events import LogEvent
from gateway.spool.intake import Counts, Intake
from gateway.spool.spool import Spool, Waiting
from gateway.webhooks.settings import WebhookSettings
from gateway.webhooks.signing import headers

ROUND = 50
"""Events that are read from the disk at once."""

ANSWER_SECONDS = 10.0
"""The longest that a receiver may take; what it does with an event belongs behind its answer."""

ANSWER_BYTES = 64_000
"""Read of an answer, of which the status alone counts; after that the connection is closed."""

PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds after a failure; they double."""

LOOK_SECONDS = 1.0
"""How often it is looked whether another process of this gateway has stopped posting."""

CLOSE_SECONDS = 2.0

log = structlog.get_logger("webhooks")


class Outbox:
    """A reader of the log, and the thread that posts."""

    def __init__(
        self,
        settings: WebhookSettings,
        folder: Path,
        secrets: Iterable[str] = (),
        pause: float = PAUSE,
        tell: Callable[[Counts], None] = lambda counts: None,
    ) -> None:
        """Open the spool; `tell` is told what became of events. Raises OSError, sqlite3.Error."""
        self._tell = tell
        self._settings = settings
        self._path = folder / "webhooks.sqlite"
        self._pause = pause
        self._intake = Intake(settings, self._path, secrets)
        self.counts = self._intake.counts
        self._wake, self._over, self._idle = threading.Event(), threading.Event(), self._intake.idle
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)
        self._thread.start()

    # --- on the log's thread ---------------------------------------------------------------------

    def take(self, call: str, wall: float, at: float, event: LogEvent) -> None:
        """Keep an event that is wanted."""
        if self._intake.take(call, wall, at, event):
            self._wake.set()

    def close(self) -> None:
        """Post what can be posted at once; the rest waits on the disk for the next process."""
        self._idle.wait(CLOSE_SECONDS)
        self._over.set()
        self._wake.set()
        self._thread.join(CLOSE_SECONDS)
        self._intake.close()

    # --- on its own ------------------------------------------------------------------------------

    def _run(self) -> None:
        lock = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not self._over.is_set():
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:  # another process of this gateway posts what all of them keep
                    self._idle.set()
                    self._over.wait(LOOK_SECONDS)
                else:
                    self._post_all()
        finally:
            os.close(lock)

    def _post_all(self) -> None:
        """Post until the end, one after the other: so each call's events keep their order."""
        spool, failed = Spool(self._path), 0
        try:
            with httpx.Client(timeout=ANSWER_SECONDS, follow_redirects=False) as client:
                while not self._over.is_set():
                    self._wake.clear()
                    try:
                        failed = self._round(client, spool, failed)
                    except sqlite3.Error as error:
                        log.warning("webhook_spool_failed", reason=str(error))
                        failed += 1
                    self._tell(self.counts)
                    if not self._wake.is_set():
                        self._idle.set()
                    if failed:
                        self._over.wait(min(self._pause * 2 ** (failed - 1), LONGEST_PAUSE))
                    else:
                        self._wake.wait(LOOK_SECONDS)
        finally:
            spool.close()

    def _round(self, client: httpx.Client, spool: Spool, failed: int) -> int:
        """Post what is due; give how often in a row the receiver was not to be had."""
        self.counts.waiting = spool.count()
        while waiting := spool.due(time.time(), ROUND):
            for event in waiting:
                if self._over.is_set():
                    return 0
                status = self._post(client, event)
                if 200 <= status < 300:
                    spool.done(event.place)
                    self.counts.taken += 1
                    self.counts.waiting -= 1
                    failed = 0
                    continue
                self.counts.failures += 1
                if time.time() - event.made > self._settings.keep_hours * 3600:
                    spool.done(event.place)
                    self.counts.dropped += 1
                    log.warning("webhook_given_up", id=event.id, status=status)
                elif status == 0 or status == 429 or status >= 500:
                    log.warning("webhook_failed", id=event.id, status=status)
                    return failed + 1
                else:  # this one is not wanted; others of other calls may be
                    pause = min(self._pause * 2 ** min(event.tries, 20), LONGEST_PAUSE)
                    spool.later(event.place, time.time() + pause)
        self.counts.waiting = spool.count()
        return 0

    def _post(self, client: httpx.Client, event: Waiting) -> int:
        """Return the receiver's status; 0: there was none."""
        signed = headers(event.id, time.time(), event.body, self._settings.secret)
        until, size = time.monotonic() + ANSWER_SECONDS, 0
        try:
            with client.stream(
                "POST", self._settings.url, content=event.body, headers=signed
            ) as answer:
                for piece in answer.iter_raw():  # to its end, so that the connection is used again
                    size += len(piece)
                    if size > ANSWER_BYTES or time.monotonic() > until:
                        break
                return answer.status_code
        except (httpx.HTTPError, httpx.InvalidURL):
            return 0
