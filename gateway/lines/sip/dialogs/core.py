"""What a user agent does with messages before and beside its calls (RFC 3261, section 8.2).

Checks what comes in from outside, finds the call that a message belongs to, and hands what calls
want sent to the transactions. Pure: the shell looks up names, decides who may come in, and owns
the sockets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from gateway.lines.sip.dialogs.inspection import inspect
from gateway.lines.sip.dialogs.placing import Dial
from gateway.lines.sip.dialogs.refer_headers import Replaces
from gateway.lines.sip.dialogs.shared import capabilities
from gateway.lines.sip.dialogs.ua import Call, CallContext
from gateway.lines.sip.dialogs.vocabulary import (
    CallEffect,
    CallEvent,
    CallSettings,
    Report,
    SendAck,
    SendCancel,
    SendRequest,
    SendResponse,
    TimePassed,
)
from gateway.lines.sip.message.address import parse_uri
from gateway.lines.sip.message.message import (
    Malformed,
    Message,
    Request,
    Response,
    call_id,
    contacts,
    from_of,
    reply,
    to_of,
)
from gateway.lines.sip.transactions.hop import Hop
from gateway.lines.sip.transactions.layer import (
    AckArrived,
    Emit,
    Layer,
    Out,
    RequestArrived,
    RequestFailed,
    ResponseArrived,
)
from gateway.lines.sip.transactions.matching import Key
from gateway.lines.sip.transactions.schedule import Schedule

CallKey = tuple[str, str]
"""Call-ID and our tag."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Find the hops for a URI; answer with `looked_up`."""

    uri: str
    request: Request
    label: str | None
    "None: an ACK, which has no transaction"


@dataclass(frozen=True, slots=True)
class Invited:
    """A call wants to come in: answer with `open` or `refuse`."""

    arrived: RequestArrived
    replaces: CallKey | None = None


@dataclass(frozen=True, slots=True)
class Reported:
    """A call reports something."""

    key: CallKey
    report: Report


@dataclass(frozen=True, slots=True)
class CallClosed:
    """Nothing more will come of a call, on the wire either."""

    key: CallKey


@dataclass(frozen=True, slots=True)
class Answered:
    """A response, or None for a failure, to a request that belongs to no call."""

    label: str
    response: Response | None


CoreEffect = Emit | Lookup | Invited | Reported | CallClosed | Answered


DRAINING_SECONDS = "30"
"""Said as Retry-After: a gateway is started again, or gone from the proxy's list, by then."""


@dataclass(slots=True)
class _Entry:
    call: Call
    flow: Hop | None
    invite: Key | None = None
    "the INVITE that began it"
    labels: list[str] = field(default_factory=list)
    "requests it has sent"


class Core:
    """The user agent around the calls."""

    def __init__(
        self,
        settings: CallSettings,
        layer: Layer,
        ids: Callable[[], str],
        resolve: Callable[[str, Hop | None], tuple[Hop, ...] | None],
    ) -> None:
        self._settings = settings
        self._layer = layer
        self._ids = ids
        self._resolve = resolve
        self.draining = False
        "whether calls are sent elsewhere from now on"
        self._calls: dict[CallKey, _Entry] = {}
        self._labels: dict[str, CallKey] = {}
        self._invites: dict[Key, CallKey] = {}
        "which call an INVITE began, for its CANCEL"
        self._schedule: Schedule[CallKey] = Schedule()

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def deadline(self) -> float | None:
        """When `tick` is wanted."""
        times = (self._layer.deadline, self._schedule.deadline)
        return min((time for time in times if time is not None), default=None)

    def call(self, key: CallKey) -> Call | None:
        """Return a call."""
        entry = self._calls.get(key)
        return entry.call if entry else None

    # --- told by the shell

    def receive(self, message: Message, hop: Hop, now: float) -> list[CoreEffect]:
        """Take a message from the wire."""
        return self._relay(self._layer.receive(message, hop, now), now)

    def malformed(self, error: Malformed, hop: Hop) -> list[CoreEffect]:
        """Answer what cannot be understood, as far as that can be done."""
        request = error.request
        if request is None or request.method == "ACK" or not request.headers.get("Via"):
            return []
        return [Emit(reply(request, error.code, self._ids()), hop)]

    def broke(self, owner: Key | None, now: float) -> list[CoreEffect]:
        """Take it that something could not be sent."""
        return self._relay(self._layer.broke(owner, now), now)

    def tick(self, now: float) -> list[CoreEffect]:
        """Let time pass."""
        effects = self._relay(self._layer.tick(now), now)
        for key in self._schedule.due(now):
            effects += self.order(key, TimePassed(), now)
        return effects

    def looked_up(self, lookup: Lookup, hops: tuple[Hop, ...], now: float) -> list[CoreEffect]:
        """Take the answer to a `Lookup`; no hops: the name leads nowhere."""
        if lookup.label is None:
            return self._relay(self._layer.send(lookup.request, hops), now)
        return self._relay(self._layer.request(lookup.label, lookup.request, hops, now), now)

    def open(
        self, invited: Invited, ground: CallContext, contact: str, now: float
    ) -> tuple[CallKey | None, list[CoreEffect]]:
        """Let a call in; None when it cannot begin, and was refused."""
        arrived = invited.arrived
        try:
            call, effects = Call.incoming(arrived, ground, contact, now)
        except ValueError:
            return None, self.refuse(arrived, 400, now)
        key = (call.call_id, call.local_tag)
        self._calls[key] = _Entry(call, arrived.hop, arrived.tx)
        self._invites[arrived.tx] = key
        return key, self._perform(key, effects, now)

    def dial(
        self, dial: Dial, ground: CallContext, identity: str, now: float
    ) -> tuple[CallKey, list[CoreEffect]]:
        """Place a call under this Call-ID."""
        call, effects = Call.outgoing(dial, ground, identity, now)
        key = (call.call_id, call.local_tag)
        self._calls[key] = _Entry(call, None)
        return key, self._perform(key, effects, now)

    def refuse(
        self,
        arrived: RequestArrived,
        code: int,
        now: float,
        headers: Iterable[tuple[str, str]] = (),
    ) -> list[CoreEffect]:
        """Answer a request that belongs to no call, with nothing but a code and headers."""
        response = reply(arrived.request, code, self._ids())
        response.headers.set("Server", self._settings.agent)
        for name, value in headers:
            response.headers.add(name, value)
        return self._relay(self._layer.respond(arrived.tx, response, now), now)

    def send(self, label: str, request: Request, uri: str, now: float) -> list[CoreEffect]:
        """Send a request that belongs to no call; its answer comes as `Answered`."""
        return self._route(label, request, uri, None, now)

    # --- from the transactions

    def _relay(self, outs: list[Out], now: float) -> list[CoreEffect]:
        effects: list[CoreEffect] = []
        for out in outs:
            match out:
                case Emit():
                    effects.append(out)
                case RequestArrived():
                    effects += self._request(out, now)
                case AckArrived(request, hop):
                    key = (call_id(request), to_of(request).tag)
                    effects += self.order(key, out, now, hop)
                case ResponseArrived(label=label) | RequestFailed(label=label):
                    response = out.response if isinstance(out, ResponseArrived) else None
                    owner = self._labels.get(label)
                    if owner is not None:
                        effects += self.order(owner, out, now)
                    elif response is None or response.code >= 200:
                        effects.append(Answered(label, response))
        return effects

    def _request(self, arrived: RequestArrived, now: float) -> list[CoreEffect]:
        request = arrived.request
        if request.method == "CANCEL":
            begun = self._invites.get(arrived.cancels or ())
            if begun is None:
                return self.refuse(arrived, 481, now)
            return self.order(begun, arrived, now)
        refusal = inspect(request, self._settings, self._ids)
        if refusal is not None:
            return self._relay(self._layer.respond(arrived.tx, refusal, now), now)
        tag = to_of(request).tag
        if tag:
            key = (call_id(request), tag)
            if key not in self._calls:
                return self.refuse(arrived, 481, now)
            return self.order(key, arrived, now, arrived.hop)
        match request.method:
            case "INVITE":
                return self._invited(arrived, now)
            case "OPTIONS" if self.draining:
                # Proxies take a target out by this alone.
                return self.refuse(arrived, 503, now, (("Retry-After", DRAINING_SECONDS),))
            case "OPTIONS":
                response = reply(request, 200, self._ids())
                capabilities(response, self._settings)
                return self._relay(self._layer.respond(arrived.tx, response, now), now)
            case _:
                # BYE, INFO, UPDATE and their kind mean nothing outside a dialog.
                return self.refuse(arrived, 481, now)

    def _invited(self, arrived: RequestArrived, now: float) -> list[CoreEffect]:
        request = arrived.request
        try:
            theirs = contacts(request)
            if len(theirs) != 1 and from_of(request).tag:
                return self.refuse(arrived, 400, now)
            parse_uri(theirs[0].uri if theirs else from_of(request).uri)
            text = request.headers.get("Replaces")
            replaces = Replaces.parse(text) if text else None
        except ValueError:
            return self.refuse(arrived, 400, now)
        if replaces is None:
            return [Invited(arrived)]
        key = (replaces.call_id, replaces.to_tag)
        found = self.call(key)
        dialog = found.dialog if found else None
        if found is None or dialog is None or dialog.remote.tag != replaces.from_tag:
            return self.refuse(arrived, 481, now)
        if found.over:
            return self.refuse(arrived, 603, now)
        if replaces.early_only and not dialog.early:
            return self.refuse(arrived, 486, now)
        return [Invited(arrived, key)]

    # --- from and to the calls

    def order(
        self, key: CallKey, event: CallEvent, now: float, flow: Hop | None = None
    ) -> list[CoreEffect]:
        """Tell a call something; `flow` is where its far side was last heard."""
        entry = self._calls.get(key)
        if entry is None:
            return []
        if flow is not None:
            entry.flow = flow
        return self._perform(key, entry.call.handle(event, now), now)

    def _perform(self, key: CallKey, wanted: list[CallEffect], now: float) -> list[CoreEffect]:
        entry = self._calls[key]
        effects: list[CoreEffect] = []
        for effect in wanted:
            match effect:
                case SendResponse(tx, response):
                    effects += self._relay(self._layer.respond(tx, response, now), now)
                case SendRequest(label, request, uri):
                    self._labels[label] = key
                    entry.labels.append(label)
                    effects += self._route(label, request, uri, entry.flow, now)
                case SendAck(request, uri):
                    effects += self._route(None, request, uri, entry.flow, now)
                case SendCancel(label):
                    effects += self._relay(self._layer.cancel(label, now), now)
                case _:
                    effects.append(Reported(key, effect))
        if entry.call.done and key in self._calls:
            self._close(key)
            effects.append(CallClosed(key))
        elif key in self._calls:
            self._schedule.set(key, entry.call.deadline)
        return effects

    def _route(
        self, label: str | None, request: Request, uri: str, flow: Hop | None, now: float
    ) -> list[CoreEffect]:
        lookup = Lookup(uri, request, label)
        try:
            hops = self._resolve(uri, flow)
        except ValueError:
            hops = ()
        return [lookup] if hops is None else self.looked_up(lookup, hops, now)

    def _close(self, key: CallKey) -> None:
        entry = self._calls.pop(key)
        self._schedule.set(key, None)
        for label in entry.labels:
            self._labels.pop(label, None)
        if entry.invite is not None:
            self._invites.pop(entry.invite, None)
