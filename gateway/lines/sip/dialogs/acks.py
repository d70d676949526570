"""Which 2xx to an INVITE still wait for their ACK (RFC 3261, section 13.3.1.4)."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.lines.sip.message.message import Response, cseq
from gateway.lines.sip.transactions.hop import Timers
from gateway.lines.sip.transactions.matching import Key


@dataclass(slots=True)
class _Waiting:
    tx: Key
    response: Response
    repeat: float
    wait: float
    end: float


class Acks:
    """Repeats each 2xx, over every transport, until its ACK comes or 64 T1 are over."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._waiting: dict[int, _Waiting] = {}
        "by CSeq number"

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to say."""
        return min((min(w.repeat, w.end) for w in self._waiting.values()), default=None)

    def sent(self, tx: Key, response: Response, now: float) -> None:
        """Wait for the ACK of a 2xx that goes out now."""
        t1 = self._timers.t1
        self._waiting[cseq(response).sequence] = _Waiting(
            tx, response, now + t1, t1, now + self._timers.limit
        )

    def acknowledged(self, sequence: int) -> bool:
        """Take an ACK; False when it is a repetition or about nothing."""
        return self._waiting.pop(sequence, None) is not None

    def stop(self) -> None:
        """Wait no longer: the call is over."""
        self._waiting.clear()

    def tick(self, now: float) -> tuple[list[tuple[Key, Response]], bool]:
        """Return what is to be repeated now, and whether an ACK was missed for good."""
        repeat: list[tuple[Key, Response]] = []
        missed = False
        for sequence, waiting in list(self._waiting.items()):
            if now >= waiting.end:
                del self._waiting[sequence]
                missed = True
            elif now >= waiting.repeat:
                waiting.wait = min(waiting.wait * 2, self._timers.t2)
                waiting.repeat = now + waiting.wait
                repeat.append((waiting.tx, waiting.response))
        return repeat, missed
