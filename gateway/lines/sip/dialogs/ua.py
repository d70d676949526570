"""One call, seen from our user agent: pure, told events, saying effects (RFC 3261, chapter 13).

Joins how the call began (`answering` or `placing`) with its dialog (`session`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.lines.rtp.offer import Negotiation
from gateway.lines.sip.dialogs.acks import Acks
from gateway.lines.sip.dialogs.answering import Answering
from gateway.lines.sip.dialogs.dialog import Dialog
from gateway.lines.sip.dialogs.outbox import Outbox
from gateway.lines.sip.dialogs.placing import Dial, Placing
from gateway.lines.sip.dialogs.session import DialogSession
from gateway.lines.sip.dialogs.session_timer import SessionTimer
from gateway.lines.sip.dialogs.shared import Shared
from gateway.lines.sip.dialogs.vocabulary import (
    Accept,
    CallEffect,
    CallEvent,
    CallSettings,
    HangUp,
    Order,
    Over,
    Reject,
    Ring,
    SendResponse,
    TimePassed,
)
from gateway.lines.sip.message.digest import Answers, Credentials
from gateway.lines.sip.message.message import Response, from_of, reply
from gateway.lines.sip.transactions.hop import Timers
from gateway.lines.sip.transactions.layer import (
    AckArrived,
    RequestArrived,
    RequestFailed,
    ResponseArrived,
)


@dataclass(frozen=True, slots=True)
class CallContext:
    """What a call stands on, whoever began it."""

    settings: CallSettings
    timers: Timers
    ids: Callable[[], str]
    media: Negotiation
    credentials: tuple[Credentials, ...] = ()

    def shared(self) -> Shared:
        """Make the parts that one call has in common."""
        return Shared(
            self.settings,
            self.timers,
            self.ids,
            self.media,
            Outbox(self.ids, Answers(self.credentials, self.ids)),
            SessionTimer(self.settings.session_expires, self.settings.min_se),
            Acks(self.timers),
        )


class Call:
    """A call from its first message to its last."""

    def __init__(
        self,
        call_id: str,
        local_tag: str,
        answering: Answering | None,
        placing: Placing | None,
        session: DialogSession | None,
    ) -> None:
        self.call_id = call_id
        self.local_tag = local_tag
        self._answering = answering
        self._placing = placing
        self._session = session
        self._told = False
        "`Over` was said"

    @classmethod
    def incoming(
        cls, arrived: RequestArrived, ground: CallContext, contact: str, now: float
    ) -> tuple[Call, list[CallEffect]]:
        """Begin with an INVITE that came in; raises ValueError when no dialog can begin."""
        request = arrived.request
        shared = ground.shared()
        dialog = Dialog.of_callee(request, ground.ids(), contact, shared.draw(10_000))
        session = DialogSession(shared, dialog)
        answering = Answering(arrived.tx, request, session, ground.timers)
        call = cls(dialog.call_id, dialog.local.tag, answering, None, session)
        return call, call._own(answering.begin())

    @classmethod
    def outgoing(
        cls, dial: Dial, ground: CallContext, call_id: str, now: float
    ) -> tuple[Call, list[CallEffect]]:
        """Begin by placing a call."""
        placing = Placing(dial, ground.shared(), call_id)
        call = cls(call_id, placing.tag, None, placing, None)
        return call, call._own(placing.begin(now))

    @property
    def dialog(self) -> Dialog | None:
        """The dialog, once there is one for certain."""
        return self._session.dialog if self._session else None

    @property
    def over(self) -> bool:
        """Whether the call has ended for its owner."""
        return self._told

    @property
    def done(self) -> bool:
        """Whether nothing more will happen on the wire either."""
        if not self._told:
            return False
        if self._session is not None:
            return self._session.done
        return self._placing is not None and self._placing.done

    @property
    def deadline(self) -> float | None:
        """When `TimePassed` is wanted."""
        parts = (self._answering, self._placing, self._session)
        times = [part.deadline for part in parts if part is not None]
        return min((time for time in times if time is not None), default=None)

    def handle(self, event: CallEvent, now: float) -> list[CallEffect]:
        """Take one event."""
        match event:
            case RequestArrived():
                effects = self._request(event, now)
            case AckArrived():
                effects = self._session.ack(event, now) if self._session else []
            case ResponseArrived(label, response):
                effects = self._response(label, response, now)
            case RequestFailed():
                effects = self._failed(event, now)
            case TimePassed():
                effects = [
                    effect
                    for part in (self._answering, self._placing, self._session)
                    if part is not None
                    for effect in part.tick(now)
                ]
            case _:
                effects = self._order(event, now)
        return self._own(effects)

    def _own(self, effects: list[CallEffect]) -> list[CallEffect]:
        """Take the placed call's dialog over, and say `Over` only once."""
        if self._placing is not None and self._session is None:
            self._session = self._placing.session
        kept: list[CallEffect] = []
        for effect in effects:
            if isinstance(effect, Over):
                if self._told:
                    continue
                self._told = True
            kept.append(effect)
        return kept

    def _request(self, arrived: RequestArrived, now: float) -> list[CallEffect]:
        request = arrived.request
        if request.method == "CANCEL":
            if self._answering is not None:
                return self._answering.cancel(arrived)
            return [SendResponse(arrived.tx, reply(request, 481))]
        session = self._session
        if session is None and self._placing is not None:
            session = self._placing.early(from_of(request).tag)
        if session is None or not session.dialog.owns(request):
            return [SendResponse(arrived.tx, reply(request, 481))]
        effects = session.request(arrived, now)
        if self._answering is not None:
            if request.method == "PRACK":
                effects += self._answering.acknowledged(now)
            elif session.over:
                effects += self._answering.gone()
        return effects

    def _response(self, label: str, response: Response, now: float) -> list[CallEffect]:
        placing = self._placing
        for session in (self._session, placing.early(_tag(response)) if placing else None):
            if session is None:
                continue
            sent = session.shared.outbox.of(label)
            if sent is not None and sent.purpose != "dial":
                return session.response(label, response, now)
        if self._session is not None and response.code // 100 == 2:
            again = self._session.renegotiation.repeated(response)
            if again:
                return again
        if placing is not None and "INVITE" in (response.headers.get("CSeq") or ""):
            return placing.response(label, response, now)
        return []

    def _failed(self, failed: RequestFailed, now: float) -> list[CallEffect]:
        if self._session is not None:
            sent = self._session.shared.outbox.of(failed.label)
            if sent is not None and sent.purpose != "dial":
                return self._session.failed(failed.label, failed.reason, now)
        return self._placing.failed(failed) if self._placing else []

    def _order(self, order: Order, now: float) -> list[CallEffect]:
        answering, session = self._answering, self._session
        if answering is not None and answering.state not in ("answered", "over"):
            match order:
                case Ring(early):
                    return answering.ring(early, now)
                case Accept():
                    return answering.accept(now)
                case Reject():
                    return answering.reject(order)
                case HangUp():
                    return answering.reject(Reject(480))
                case _:
                    return []
        if session is None:
            if isinstance(order, HangUp) and self._placing is not None:
                over = Over("local", "cancelled", 487, order.reason)
                return self._placing.give_up(over, now)
            return []
        if isinstance(order, Ring | Accept | Reject):
            return []
        return session.order(order, now)


def _tag(response: Response) -> str:
    to = response.headers.get("To") or ""
    return to.rpartition("tag=")[2].partition(";")[0].strip()
