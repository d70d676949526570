"""Provisional responses that must arrive (RFC 3262), seen from both sides."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.lines.sip.message.message import Request, Response, cseq, number, tokens
from gateway.lines.sip.transactions.hop import Timers
from gateway.lines.sip.transactions.matching import Key


@dataclass(frozen=True, slots=True)
class Ack:
    """The RAck header: which provisional response is acknowledged."""

    rseq: int
    sequence: int
    method: str

    @classmethod
    def parse(cls, text: str) -> Ack:
        """Read it; raises ValueError."""
        parts = text.split()
        if len(parts) != 3 or not all(p.isascii() and p.isdigit() for p in parts[:2]):
            raise ValueError("RAck is malformed")
        if len(parts[0]) > 10 or len(parts[1]) > 10:
            raise ValueError("RAck is out of range")
        return cls(int(parts[0]), int(parts[1]), parts[2])

    def __str__(self) -> str:
        return f"{self.rseq} {self.sequence} {self.method}"


class Provisionals:
    """The answering side: one reliable response at a time, repeated until PRACK (section 3)."""

    def __init__(self, first: int, timers: Timers) -> None:
        self._next = first
        self._timers = timers
        self._waiting: tuple[Key, Response, Ack] | None = None
        self._stopped: Ack | None = None
        "what is no longer waited for and may still come"
        self._wait = timers.t1
        self._repeat = 0.0
        self._end = 0.0

    @property
    def waiting(self) -> bool:
        """Whether a response has not been acknowledged."""
        return self._waiting is not None

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to say."""
        return min(self._repeat, self._end) if self._waiting else None

    def sent(self, tx: Key, response: Response, now: float) -> Response:
        """Number a response that is about to be sent."""
        sequence = cseq(response)
        response.headers.set("Require", "100rel")
        response.headers.set("RSeq", str(self._next))
        self._waiting = (tx, response, Ack(self._next, sequence.sequence, sequence.method))
        self._next += 1
        self._wait = self._timers.t1
        self._repeat, self._end = now + self._wait, now + self._timers.limit
        return response

    def acknowledged(self, request: Request) -> bool:
        """Take a PRACK; False when it is about nothing that waits (481)."""
        try:
            ack = Ack.parse(request.headers.get("RAck") or "")
        except ValueError:
            return False
        if ack == self._stopped:
            self._stopped = None
            return True
        if self._waiting is None or ack != self._waiting[2]:
            return False
        self._waiting = None
        return True

    def tick(self, now: float) -> tuple[Key, Response] | bool | None:
        """Return the response to repeat; False when nobody acknowledges (section 3: give up)."""
        if self._waiting is None:
            return None
        if now >= self._end:
            self._waiting = None
            return False
        if now < self._repeat:
            return None
        self._wait *= 2
        self._repeat = now + self._wait
        return self._waiting[0], self._waiting[1]

    def stop(self) -> None:
        """Stop repeating: the final response goes out, and may cross the PRACK (section 3)."""
        self._stopped = self._waiting[2] if self._waiting is not None else None
        self._waiting = None


def wants_ack(response: Response) -> int | None:
    """Return the RSeq of a response that asks for PRACK; None when it does not."""
    if not 101 <= response.code <= 199 or "100rel" not in tokens(response, "Require"):
        return None
    return number(response, "RSeq")


class Acknowledger:
    """The calling side: which provisional responses get a PRACK, in order, once (section 4)."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        "by remote tag"

    def take(self, tag: str, response: Response) -> Ack | None:
        """Return the RAck for a response; None when it is a repetition or out of order."""
        rseq = wants_ack(response)
        if rseq is None:
            return None
        last = self._last.get(tag)
        if last is not None and rseq != last + 1:
            return None
        self._last[tag] = rseq
        sequence = cseq(response)
        return Ack(rseq, sequence.sequence, sequence.method)
