"""How a call ends that we broke ourselves: with a word, by nothing but the playout and the line.

What broke is not known, so that nothing else of the call is asked any more.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from gateway.call.saying import FixedLineBook
from gateway.log_events import CallEndedLogged, FaultLogged, LogEvent
from gateway.ports import Leg

UTTERANCE = 1 << 30
"""The last one of a call; no conversation counts so far."""

SPARE_SECONDS = 1.0
"""How much longer than it lasts the sentence may take to be heard."""

REASON = "internal error"

log = structlog.get_logger("call")


class Farewell:
    """Says one sentence and hangs up; whatever fails meanwhile, the call ends, and once."""

    def __init__(self, leg: Leg, book: FixedLineBook, write: Callable[[LogEvent], None]) -> None:
        self.begun = False
        "the call is broken; nobody else may do anything with it"
        self._leg = leg
        self._book = book
        self._write = write
        self._until = 0.0
        self._began: float | None = None
        self._told = False
        "the log has the call's end"

    def note(self, event: LogEvent, now: float) -> None:
        """Take what was written of the call."""
        if self._began is None:
            self._began = now
        self._told = self._told or isinstance(event, CallEndedLogged)

    def begin(self, text: str, now: float) -> bool:
        """Begin to say a sentence that was rendered ahead; return whether it can be said."""
        self.begun = True
        self._write(FaultLogged(part="gateway", reason=REASON))
        try:
            rate, playout = self._leg.info.rate, self._leg.playout
            line = self._book.ready(text, rate)
            if line is None or "line" in playout.holders:
                return False
            self._leg.clear()
            playout.flush(now)
            playout.resume("caller")
            playout.push(UTTERANCE, playout.form.encode(line.pcm))
            playout.end(UTTERANCE)
            self._until = now + len(line.pcm) / 2 / rate + SPARE_SECONDS
        except BaseException:  # fence: what speaks may be what broke
            log.exception("farewell_broke", call_id=self._leg.info.call_id)
            return False
        return True

    def over(self, now: float) -> bool:
        """Return whether the sentence was heard, or should have been; called at every tick."""
        if self._leg.clocked:
            self._leg.poll(now)
        self._leg.playout.poll(now)
        return self._leg.playout.silent or now >= self._until

    def end(self, now: float, *, gone: str = "") -> None:
        """Hang up, unless the caller did, and write down the call's end."""
        if not self._told:
            self._told = True
            seconds = 0.0 if self._began is None else now - self._began
            self._write(
                CallEndedLogged(reason=gone or REASON, ended_by="failure", seconds=seconds, turns=0)
            )
        if not gone:
            self._leg.hang_up(REASON)
