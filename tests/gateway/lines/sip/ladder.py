"""Two user agents and the network between them, in virtual time, with a scripted fate."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, assert_never

from gateway.lines.rtp.offer import LocalMedia, Negotiation
from gateway.lines.sip.dialogs.core import (
    Answered,
    CallClosed,
    CallKey,
    Core,
    CoreEffect,
    Invited,
    Lookup,
    Reported,
)
from gateway.lines.sip.dialogs.placing import Dial
from gateway.lines.sip.dialogs.ua import CallContext
from gateway.lines.sip.dialogs.vocabulary import (
    Accept,
    CallSettings,
    Established,
    MediaAgreed,
    Order,
    Over,
    Report,
    Ring,
)
from gateway.lines.sip.message.digest import Credentials
from gateway.lines.sip.message.message import Request, parse
from gateway.lines.sip.transactions.hop import Hop, Timers
from gateway.lines.sip.transactions.layer import Emit, Layer
from gateway.lines.sip.transactions.routing import direct_hops
from tests.gateway.lines.sip.support import counting

DELAY = 0.01
Fate = Literal["arrive", "lose", "twice", "late"]


@dataclass
class Side:
    """One user agent, and all that its calls reported."""

    host: str
    "also where its sound is to be sent, unless `media_host` says otherwise"
    core: Core
    settings: CallSettings
    ids: Callable[[], str]
    credentials: tuple[Credentials, ...] = ()
    answers: tuple[Order, ...] = (Ring(), Accept())
    reports: list[tuple[float, CallKey, Report]] = field(default_factory=list)
    calls: list[CallKey] = field(default_factory=list)
    emitted: list[tuple[float, str]] = field(default_factory=list)
    rungs: list[str] = field(default_factory=list)
    "everything that the side did, in order, and that nobody has looked at"
    media_host: str = ""

    def ground(self) -> CallContext:
        """Make what a call of this side stands on."""
        media = Negotiation(LocalMedia(self.media_host or self.host, 6000), 1, bytes)
        return CallContext(self.settings, Timers(), self.ids, media, self.credentials)

    def kinds(self, kind: type[Report]) -> list[Report]:
        """Return the reports of a kind."""
        return [report for _, _, report in self.reports if isinstance(report, kind)]

    def did(self) -> list[str]:
        """Return all that the side did since this was asked last."""
        rungs, self.rungs = self.rungs, []
        return rungs

    @property
    def key(self) -> CallKey:
        """The first call."""
        return self.calls[0]

    @property
    def up(self) -> bool:
        """Whether the call was established and is not over."""
        return bool(self.kinds(Established)) and not self.kinds(Over)


class Ladder:
    """Carries messages between two sides; each message's fate is taken from a list, in order."""

    def __init__(
        self,
        fates: Iterable[Fate] = (),
        near: CallSettings | None = None,
        far: CallSettings | None = None,
    ) -> None:
        self.now = 1000.0
        self.fates = list(fates)
        self.near = self._side("192.0.2.1", near or CallSettings())
        self.far = self._side("192.0.2.2", far or CallSettings())
        self._queue: list[tuple[float, int, Side, bytes]] = []
        self._count = 0

    def _side(self, host: str, settings: CallSettings) -> Side:
        ids = counting()
        own = int(host[-1])

        def unlike() -> str:
            return f"{own:x}{ids()[1:]}"

        layer = Layer(Timers(), unlike, lambda hop: f"{host}:5060")
        return Side(host, Core(settings, layer, unlike, direct_hops), settings, unlike)

    # --- what a test does

    def dial(self, **headers: str) -> CallKey:
        """Let the near side call the far side."""
        side = self.near
        dial = Dial(
            "sip:far@192.0.2.2",
            "<sip:near@192.0.2.1>",
            "<sip:near@192.0.2.1:5060>",
            (),
            tuple(headers.items()),
        )
        key, effects = side.core.dial(dial, side.ground(), f"{side.ids()}@near", self.now)
        side.calls.append(key)
        self._perform(side, effects)
        return key

    def order(self, side: Side, order: Order) -> None:
        """Give the first call of a side an order."""
        self._perform(side, side.core.order(side.key, order, self.now))

    def run(self, seconds: float) -> None:
        """Let time pass."""
        until = self.now + seconds
        while True:
            when, side = self._next()
            if when is None or when > until:
                break
            self.now = max(self.now, when)
            if side is None:
                _, _, to, data = heapq.heappop(self._queue)
                source = "192.0.2.1" if to is self.far else "192.0.2.2"
                effects = to.core.receive(parse(data), Hop("udp", source, 5060), self.now)
                self._perform(to, effects)
            else:
                self._perform(side, side.core.tick(self.now))
        self.now = until

    # --- inside

    def _next(self) -> tuple[float | None, Side | None]:
        found: list[tuple[float, Side | None]] = []
        if self._queue:
            found.append((self._queue[0][0], None))
        found += [
            (side.core.deadline, side)
            for side in (self.near, self.far)
            if side.core.deadline is not None
        ]
        return min(found, key=lambda one: one[0], default=(None, None))

    def _perform(self, side: Side, effects: list[CoreEffect]) -> None:
        for effect in effects:
            match effect:
                case Emit(message, hop):
                    name = message.method if isinstance(message, Request) else str(message.code)
                    side.emitted.append((self.now, name))
                    side.rungs.append(f"sends {name}")
                    self._carry(hop, message.encode())
                case Invited():
                    side.rungs.append("is invited")
                    self._answer(side, effect)
                case Reported(key, report):
                    side.reports.append((self.now, key, report))
                    side.rungs.append(type(report).__name__)
                case CallClosed() | Lookup() | Answered():
                    side.rungs.append(type(effect).__name__)
                case _:
                    assert_never(effect)

    def _answer(self, side: Side, invited: Invited) -> None:
        contact = f"<sip:{side.host}:5060>"
        key, effects = side.core.open(invited, side.ground(), contact, self.now)
        if key is not None:
            side.calls.append(key)
        self._perform(side, effects)
        for order in side.answers if key is not None else ():
            self._perform(side, side.core.order(key, order, self.now))

    def _carry(self, hop: Hop, data: bytes) -> None:
        to = {"192.0.2.1": self.near, "192.0.2.2": self.far}.get(hop.host)
        fate = self.fates.pop(0) if self.fates else "arrive"
        if to is None or fate == "lose":
            return
        waits = {"arrive": [DELAY], "twice": [DELAY, DELAY * 3], "late": [DELAY * 8]}[fate]
        for wait in waits:
            self._count += 1
            heapq.heappush(self._queue, (self.now + wait, self._count, to, data))


def directions(side: Side) -> list[str]:
    """Return the media directions agreed, in order."""
    agreed = side.kinds(MediaAgreed)
    return [one.agreement.direction for one in agreed if isinstance(one, MediaAgreed)]
