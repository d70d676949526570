"""The four transaction machines of RFC 3261, section 17, with the Accepted states of RFC 6026.

Each is told what arrived or what its user answers, and says what to send, what to deliver and when
it is over; none knows addresses or sockets.
A test reads these tables and drives the machines by them; what is not listed changes nothing and
says nothing.

    ClientInvite    1xx             2xx               3xx-6xx             broke        over
    calling         proceeding D    accepted D        completed T D       over F       over F
    proceeding      proceeding D    accepted D        completed T D       over F       -
    accepted        -               accepted D        -                   -            over
    completed       -               -                 completed T         over F       over

    ClientRequest   1xx             2xx               3xx-6xx             broke        over
    trying          proceeding D    completed D       completed D         over F       over F
    proceeding      proceeding D    completed D       completed D         over F       over F
    completed       -               -                 -                   -            over

    ServerInvite    again  ack           answer 1xx    answer 2xx   answer 3xx    broke    over
    proceeding      -      -             proceeding T  accepted T   completed T   over F   -
    completed       T      confirmed     -             -            -             over F   over F
    confirmed       -      -             -             -            -             over F   over
    accepted        -      accepted D    -             accepted T   -             -        over

    ServerRequest   again   answer 1xx     answer 2xx    answer 3xx    broke     over
    trying          -       proceeding T   completed T   completed T   over F    -
    proceeding      T       proceeding T   completed T   completed T   over F    -
    completed       T       -              -             -             over F    over

T: transmit, D: deliver to the user, F: tell the user that it failed. `broke` is a transport that
could not send, `over` the time at which the last of timers B, D, F, H, I, J, K, L, M ends the wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gateway.lines.sip.message.message import Message, Request, Response
from gateway.lines.sip.transactions.hop import Timers

TRYING_AFTER = 0.2
"""RFC 3261, section 17.2.1: 100 is sent unless the user answers within 200 ms."""
COMPLETED_UDP = 32.0
"""Timer D: at least 32 s for unreliable transports."""


# --- told ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Received:
    """A message that belongs to this transaction came in."""

    message: Message


@dataclass(frozen=True, slots=True)
class Answered:
    """The user of a server transaction gives a response."""

    response: Response


@dataclass(frozen=True, slots=True)
class TransportBroke:
    """What was sent did not leave."""


@dataclass(frozen=True, slots=True)
class TimePassed:
    """The deadline may be over."""


Told = Received | Answered | TransportBroke | TimePassed

# --- said ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Transmit:
    """Put a message on the wire."""

    message: Message


@dataclass(frozen=True, slots=True)
class Deliver:
    """Give a message to the user of the transaction."""

    message: Message


@dataclass(frozen=True, slots=True)
class Failed:
    """No answer will come; tell the user."""

    reason: Literal["timeout", "transport"]


Said = Transmit | Deliver | Failed


def acknowledge(request: Request, response: Response) -> Request:
    """Build the ACK for a final response that is no 2xx (RFC 3261, section 17.1.1.3)."""
    ack = Request("ACK", request.uri)
    via = request.headers.getlist("Via")[0]
    ack.headers.set("Via", via)
    for name in ("Route", "From", "Call-ID", "Max-Forwards"):
        if values := request.headers.getlist(name):
            ack.headers.setlist(name, list(values))
    ack.headers.set("To", response.headers.get("To") or request.headers.get("To") or "")
    ack.headers.set("CSeq", f"{_sequence(request)} ACK")
    return ack


def _sequence(request: Request) -> str:
    return (request.headers.get("CSeq") or "").split()[0]


@dataclass(slots=True)
class _Due:
    """What a transaction waits for: to send again, and to be over."""

    repeat: float | None
    end: float | None

    @property
    def earliest(self) -> float | None:
        """The nearer of both."""
        return min((each for each in (self.repeat, self.end) if each is not None), default=None)

    def repeats(self, now: float) -> bool:
        """Return whether it is time to send again."""
        return self.repeat is not None and now >= self.repeat

    def ended(self, now: float) -> bool:
        """Return whether it is time to be over."""
        return self.end is not None and now >= self.end


class ClientInvite:
    """INVITE client transaction (RFC 3261, section 17.1.1; RFC 6026, section 8.4)."""

    def __init__(self, request: Request, reliable: bool, timers: Timers, now: float) -> None:
        self.state: Literal["calling", "proceeding", "completed", "accepted", "over"] = "calling"
        self._request = request
        self._reliable = reliable
        self._timers = timers
        self._wait = timers.t1
        self._due = _Due(None if reliable else now + timers.t1, now + timers.limit)
        "timer A; timer B, then D or M"
        self._ack: Request | None = None

    @property
    def deadline(self) -> float | None:
        """When `TimePassed` is wanted."""
        return self._due.earliest

    def handle(self, told: Told, now: float) -> list[Said]:
        """Take one event."""
        match told:
            case Received(Response() as response):
                return self._receive(response, now)
            case TransportBroke() if self.state in ("calling", "proceeding"):
                return self._fail("transport")
            case TransportBroke() if self.state == "completed":
                return self._fail("transport")
            case TimePassed():
                return self._pass(now)
            case _:
                return []

    def _receive(self, response: Response, now: float) -> list[Said]:
        if self.state in ("calling", "proceeding"):
            self._due.repeat = None
            if response.code < 200:
                self.state = "proceeding"
                self._due.end = None
                return [Deliver(response)]
            if response.code < 300:
                # RFC 6026, section 8.4: wait in Accepted for further 2xx, of forks too.
                self.state = "accepted"
                self._due.end = now + self._timers.limit
                return [Deliver(response)]
            self.state = "completed"
            self._due.end = now + (0.0 if self._reliable else COMPLETED_UDP)
            self._ack = acknowledge(self._request, response)
            return [Transmit(self._ack), Deliver(response)]
        if self.state == "completed" and response.code >= 300 and self._ack:
            return [Transmit(self._ack)]
        if self.state == "accepted" and 200 <= response.code < 300:
            return [Deliver(response)]
        return []

    def _pass(self, now: float) -> list[Said]:
        if self._due.ended(now):
            if self.state == "calling":
                return self._fail("timeout")
            _stop(self)
            return []
        if self._due.repeats(now):
            self._wait *= 2
            self._due.repeat = now + self._wait
            return [Transmit(self._request)]
        return []

    def _fail(self, reason: Literal["timeout", "transport"]) -> list[Said]:
        _stop(self)
        return [Failed(reason)]


class ClientRequest:
    """Client transaction of every other method (RFC 3261, section 17.1.2)."""

    def __init__(self, request: Request, reliable: bool, timers: Timers, now: float) -> None:
        self.state: Literal["trying", "proceeding", "completed", "over"] = "trying"
        self._request = request
        self._reliable = reliable
        self._timers = timers
        self._wait = timers.t1
        self._due = _Due(None if reliable else now + timers.t1, now + timers.limit)
        "timer E; timer F, then K"

    @property
    def deadline(self) -> float | None:
        """When `TimePassed` is wanted."""
        return self._due.earliest

    def handle(self, told: Told, now: float) -> list[Said]:
        """Take one event."""
        match told:
            case Received(Response() as response) if self.state in ("trying", "proceeding"):
                if response.code < 200:
                    self.state = "proceeding"
                    return [Deliver(response)]
                self.state = "completed"
                self._due.repeat = None
                self._due.end = now + (0.0 if self._reliable else self._timers.t4)
                return [Deliver(response)]
            case TransportBroke() if self.state in ("trying", "proceeding"):
                _stop(self)
                return [Failed("transport")]
            case TimePassed():
                return self._pass(now)
            case _:
                return []

    def _pass(self, now: float) -> list[Said]:
        if self._due.ended(now):
            waiting = self.state in ("trying", "proceeding")
            _stop(self)
            return [Failed("timeout")] if waiting else []
        if self._due.repeats(now):
            # RFC 3261, section 17.1.2.2: doubling up to T2; at T2 once a provisional came.
            self._wait = min(self._wait * 2, self._timers.t2)
            if self.state == "proceeding":
                self._wait = self._timers.t2
            self._due.repeat = now + self._wait
            return [Transmit(self._request)]
        return []


class ServerInvite:
    """INVITE server transaction (RFC 3261, section 17.2.1; RFC 6026, section 8.7)."""

    def __init__(self, trying: Response | None, reliable: bool, timers: Timers, now: float) -> None:
        self.state: Literal["proceeding", "completed", "confirmed", "accepted", "over"]
        self.state = "proceeding"
        self._trying = trying
        self._reliable = reliable
        self._timers = timers
        self._last: Response | None = None
        self._wait = timers.t1
        self._due = _Due(now + TRYING_AFTER if trying else None, None)
        "the moment of the 100, then timer G; timers H, I, L"

    @property
    def deadline(self) -> float | None:
        """When `TimePassed` is wanted."""
        return self._due.earliest

    def handle(self, told: Told, now: float) -> list[Said]:
        """Take one event."""
        match told:
            case Received(Request(method="ACK") as ack):
                return self._acknowledged(ack, now)
            case Received(Request()):
                # RFC 6026, section 7.1: in Accepted a repeated INVITE is absorbed.
                if self.state in ("proceeding", "completed") and self._last:
                    return [Transmit(self._last)]
                return []
            case Answered(response):
                return self._answer(response, now)
            case TransportBroke() if self.state not in ("accepted", "over"):
                _stop(self)
                return [Failed("transport")]
            case TimePassed():
                return self._pass(now)
            case _:
                return []

    def _acknowledged(self, ack: Request, now: float) -> list[Said]:
        if self.state == "completed":
            self.state = "confirmed"
            self._due.repeat = None
            self._due.end = now + (0.0 if self._reliable else self._timers.t4)
            return []
        return [Deliver(ack)] if self.state == "accepted" else []

    def _answer(self, response: Response, now: float) -> list[Said]:
        if self.state == "accepted":
            # The user repeats its 2xx until the ACK comes (RFC 3261, section 13.3.1.4).
            return [Transmit(response)] if 200 <= response.code < 300 else []
        if self.state != "proceeding":
            return []
        self._last = response
        self._due.repeat = None
        if response.code >= 300:
            self.state = "completed"
            self._due.end = now + self._timers.limit
            self._due.repeat = None if self._reliable else now + self._wait
        elif response.code >= 200:
            self.state = "accepted"
            self._due.end = now + self._timers.limit
        return [Transmit(response)]

    def _pass(self, now: float) -> list[Said]:
        if self._due.ended(now):
            waiting = self.state == "completed"
            _stop(self)
            return [Failed("timeout")] if waiting else []
        if not self._due.repeats(now):
            return []
        if self.state == "proceeding" and self._trying:
            self._due.repeat, self._last = None, self._trying
            return [Transmit(self._trying)]
        if self.state == "completed" and self._last:
            self._wait = min(self._wait * 2, self._timers.t2)
            self._due.repeat = now + self._wait
            return [Transmit(self._last)]
        return []


class ServerRequest:
    """Server transaction of every other method (RFC 3261, section 17.2.2)."""

    def __init__(self, reliable: bool, timers: Timers) -> None:
        self.state: Literal["trying", "proceeding", "completed", "over"] = "trying"
        self._reliable = reliable
        self._timers = timers
        self._last: Response | None = None
        self._due = _Due(None, None)
        "timer J"

    @property
    def deadline(self) -> float | None:
        """When `TimePassed` is wanted."""
        return self._due.earliest

    def handle(self, told: Told, now: float) -> list[Said]:
        """Take one event."""
        match told:
            case Received(Request()):
                return [Transmit(self._last)] if self._last else []
            case Answered(response) if self.state in ("trying", "proceeding"):
                self._last = response
                self.state = "proceeding" if response.code < 200 else "completed"
                if self.state == "completed":
                    self._due.end = now + (0.0 if self._reliable else self._timers.limit)
                return [Transmit(response)]
            case TransportBroke() if self.state != "over":
                _stop(self)
                return [Failed("transport")]
            case TimePassed() if self._due.ended(now):
                _stop(self)
                return []
            case _:
                return []


Transaction = ClientInvite | ClientRequest | ServerInvite | ServerRequest


def _stop(transaction: Transaction) -> None:
    """End a transaction: it waits for nothing any more."""
    transaction.state = "over"
    transaction._due.repeat = transaction._due.end = None
