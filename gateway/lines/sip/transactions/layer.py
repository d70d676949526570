"""Which transaction a message belongs to (RFC 3261, sections 17.1.3, 17.2.3, 18; RFC 3581).

Holds every transaction of the process; does not know dialogs, and knows a socket only as a `Hop`.
Tries the next address when one fails (RFC 3263, section 4.3), and answers merged requests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gateway.lines.sip.message.message import Message, Request, Response, cseq, reply, vias
from gateway.lines.sip.transactions.hop import Hop, Timers
from gateway.lines.sip.transactions.matching import (
    COOKIE,
    Key,
    answer_hop,
    cancel_of,
    invite_of,
    mark_source,
    merge_key,
    server_key,
)
from gateway.lines.sip.transactions.schedule import Schedule
from gateway.lines.sip.transactions.transaction import (
    Answered,
    ClientInvite,
    ClientRequest,
    Deliver,
    Failed,
    Received,
    Said,
    ServerInvite,
    ServerRequest,
    TimePassed,
    Told,
    Transaction,
    Transmit,
    TransportBroke,
)

LARGEST_DATAGRAM = 1300
"""RFC 3261, section 18.1.1: longer requests go over a transport that controls congestion."""


# --- what the layer says ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Emit:
    """Put a message on the wire; tell `broke(owner)` if that fails."""

    message: Message
    hop: Hop
    owner: Key | None = None


@dataclass(frozen=True, slots=True)
class RequestArrived:
    """A new request, to be answered under `tx`; for CANCEL, `cancels` is what it is about."""

    tx: Key
    request: Request
    hop: Hop
    cancels: Key | None = None


@dataclass(frozen=True, slots=True)
class AckArrived:
    """The ACK of a 2xx."""

    request: Request
    hop: Hop


@dataclass(frozen=True, slots=True)
class ResponseArrived:
    """A response to the request that was sent under `label`."""

    label: str
    response: Response


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """No final response came, over no address there was."""

    label: str
    reason: Literal["timeout", "transport"]


Out = Emit | RequestArrived | AckArrived | ResponseArrived | RequestFailed


@dataclass(slots=True)
class _Client:
    label: str
    request: Request
    hop: Hop
    further: tuple[Hop, ...]
    cancelled: bool = False
    "CANCEL is wanted as soon as a provisional response comes"


@dataclass(slots=True)
class _Server:
    hop: Hop
    merge: Key = field(default=())


class Layer:
    """All transactions of one user agent."""

    def __init__(
        self,
        timers: Timers,
        ids: Callable[[], str],
        sent_by: Callable[[Hop], str],
        *,
        prefer_stream: bool = True,
        limit: int = 20_000,
    ) -> None:
        self._timers = timers
        self._ids = ids
        self._sent_by = sent_by
        self._prefer_stream = prefer_stream
        self._limit = limit
        self._machines: dict[Key, Transaction] = {}
        self._clients: dict[Key, _Client] = {}
        self._servers: dict[Key, _Server] = {}
        self._labels: dict[str, Key] = {}
        self._merges: dict[Key, Key] = {}
        self._schedule: Schedule[Key] = Schedule()

    @property
    def deadline(self) -> float | None:
        """When `tick` is wanted."""
        return self._schedule.deadline

    def __len__(self) -> int:
        return len(self._machines)

    # --- from the wire

    def receive(self, message: Message, hop: Hop, now: float) -> list[Out]:
        """Take a message that came from `hop`."""
        if isinstance(message, Response):
            return self._receive_response(message, hop, now)
        return self._receive_request(message, hop, now)

    def _receive_response(self, response: Response, hop: Hop, now: float) -> list[Out]:
        try:
            top, *below = vias(response)
            method = cseq(response).method
        except ValueError:
            return []
        # RFC 3261, section 8.1.3.3: a response with another Via below ours was misrouted.
        key = ("c", top.get("branch") or "", method)
        client = self._clients.get(key)
        if below or client is None:
            return []
        out = self._tell(key, Received(response), now, hop)
        if client.cancelled and response.code < 200:
            client.cancelled = False
            out += self._send_cancel(client, now)
        return out

    def _receive_request(self, request: Request, hop: Hop, now: float) -> list[Out]:
        top = vias(request)[0]
        key = server_key(request, top)
        if key in self._machines:
            return self._tell(key, Received(request), now, hop)
        mark_source(request, top, hop)
        if request.method == "ACK":
            return [AckArrived(request, hop)]
        back = answer_hop(top, hop)
        if len(self._machines) >= self._limit:
            busy = reply(request, 503)
            busy.headers.set("Retry-After", "10")
            return [Emit(busy, back)]
        merge = merge_key(request)
        other = self._merges.get(merge) if merge else None
        machine: Transaction = ServerRequest(back.reliable, self._timers)
        if request.method == "INVITE":
            machine = ServerInvite(reply(request, 100), back.reliable, self._timers, now)
        self._machines[key], self._servers[key] = machine, _Server(back, merge)
        if merge:
            self._merges.setdefault(merge, key)
        self._schedule.set(key, machine.deadline)
        if other is not None and request.method != "CANCEL":
            # RFC 3261, section 8.2.2.2: the same request came over another path.
            return self.respond(key, reply(request, 482, self._ids()), now)
        cancels = invite_of(key) if request.method == "CANCEL" else None
        if cancels is not None and cancels not in self._machines:
            return self.respond(key, reply(request, 481, self._ids()), now)
        return [RequestArrived(key, request, hop, cancels)]

    # --- from above

    def respond(self, tx: Key, response: Response, now: float) -> list[Out]:
        """Answer a request; does nothing once its transaction is over."""
        server = self._servers.get(tx)
        if server is None:
            return []
        if response.code >= 300 and server.merge:
            # A retry with the same CSeq after a refusal is no merged request.
            self._merges.pop(server.merge, None)
        return self._tell(tx, Answered(response), now, server.hop)

    def request(self, label: str, request: Request, hops: Sequence[Hop], now: float) -> list[Out]:
        """Send a request to the first of `hops` that answers; `label` names it in what follows."""
        if not hops:
            return [RequestFailed(label, "transport")]
        suited = _suited(request, hops) if self._prefer_stream else hops
        return self._open_client(label, request, suited, now)

    def send(self, request: Request, hops: Sequence[Hop]) -> list[Out]:
        """Send a request that has no transaction: the ACK of a 2xx."""
        if not hops:
            return []
        message = self._stamped(request, hops[0], COOKIE + self._ids())
        return [Emit(message, hops[0])]

    def cancel(self, label: str, now: float) -> list[Out]:
        """Cancel an INVITE (RFC 3261, section 9.1): not before a provisional response came."""
        key = self._labels.get(label)
        client = self._clients.get(key) if key else None
        machine = self._machines.get(key) if key else None
        if client is None or not isinstance(machine, ClientInvite):
            return []
        if machine.state == "calling":
            client.cancelled = True
            return []
        return self._send_cancel(client, now) if machine.state == "proceeding" else []

    def broke(self, owner: Key | None, now: float) -> list[Out]:
        """Say that an `Emit` of this owner could not be sent."""
        return self._tell(owner, TransportBroke(), now, None) if owner else []

    def tick(self, now: float) -> list[Out]:
        """Let time pass."""
        out: list[Out] = []
        for key in self._schedule.due(now):
            out += self._tell(key, TimePassed(), now, None)
        return out

    # --- inside

    def _stamped(self, request: Request, hop: Hop, branch: str) -> Request:
        message = request.copy()
        via = f"SIP/2.0/{hop.transport.upper()} {self._sent_by(hop)};branch={branch};rport"
        message.headers.remove("Via")
        message.headers.set("Via", via)
        return message

    def _open_client(
        self, label: str, request: Request, hops: Sequence[Hop], now: float
    ) -> list[Out]:
        first, *further = hops
        branch = COOKIE + self._ids()
        return self._launch(
            ("c", branch, request.method),
            _Client(label, self._stamped(request, first, branch), first, tuple(further)),
            now,
        )

    def _launch(self, key: Key, client: _Client, now: float) -> list[Out]:
        request, hop = client.request, client.hop
        kind = ClientInvite if request.method == "INVITE" else ClientRequest
        machine = kind(request, hop.reliable, self._timers, now)
        self._machines[key] = machine
        self._clients[key] = client
        self._labels[client.label] = key
        self._schedule.set(key, machine.deadline)
        return [Emit(request, hop, key)]

    def _send_cancel(self, client: _Client, now: float) -> list[Out]:
        cancel, branch = cancel_of(client.request)
        label = f"cancel:{client.label}"
        return self._launch(("c", branch, "CANCEL"), _Client(label, cancel, client.hop, ()), now)

    def _tell(self, key: Key, told: Told, now: float, hop: Hop | None) -> list[Out]:
        machine = self._machines.get(key)
        if machine is None:
            return []
        out: list[Out] = []
        for said in machine.handle(told, now):
            out += self._relay(key, said, hop, now)
        if machine.state == "over":
            self._close(key, machine)
        elif self._machines.get(key) is machine:
            self._schedule.set(key, machine.deadline)
        return out

    def _relay(self, key: Key, said: Said, hop: Hop | None, now: float) -> list[Out]:
        client = self._clients.get(key)
        match said:
            case Transmit(message):
                to = client.hop if client else self._servers[key].hop
                return [Emit(message, to, key)]
            case Deliver(Response() as response) if client:
                if response.code == 503 and client.further:
                    # RFC 3263, section 4.3: a 503 means the next server.
                    return self._open_client(client.label, client.request, client.further, now)
                return [ResponseArrived(client.label, response)]
            case Deliver(Request() as request):
                return [AckArrived(request, hop or self._servers[key].hop)]
            case Failed(reason) if client:
                if client.further:
                    return self._open_client(client.label, client.request, client.further, now)
                return [RequestFailed(client.label, reason)]
            case _:
                return []

    def _close(self, key: Key, machine: Transaction | None = None) -> None:
        if machine is not None and self._machines.get(key) is not machine:
            return
        self._machines.pop(key, None)
        self._schedule.set(key, None)
        client = self._clients.pop(key, None)
        if client and self._labels.get(client.label) == key:
            del self._labels[client.label]
        server = self._servers.pop(key, None)
        if server and server.merge and self._merges.get(server.merge) == key:
            del self._merges[server.merge]


def _suited(request: Request, hops: Sequence[Hop]) -> list[Hop]:
    """Put a stream before each address that only takes datagrams, when the request is large."""
    size = len(request.encode()) + 120  # the Via is not on it yet
    suited: list[Hop] = []
    for hop in hops:
        if hop.transport == "udp" and size > LARGEST_DATAGRAM:
            suited.append(Hop("tcp", hop.host, hop.port, name=hop.name))
        suited.append(hop)
    return suited
