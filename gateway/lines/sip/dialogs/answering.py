"""How a call that comes in is answered: from its INVITE to the ACK (RFC 3261, section 13.3)."""

from __future__ import annotations

from typing import Literal

from gateway.lines.rtp.offer import NotAcceptable
from gateway.lines.sip.dialogs.renegotiation import not_acceptable
from gateway.lines.sip.dialogs.session import DialogSession
from gateway.lines.sip.dialogs.shared import capabilities
from gateway.lines.sip.dialogs.vocabulary import (
    CallEffect,
    MediaAgreed,
    MediaRefused,
    Over,
    Reject,
    SendResponse,
)
from gateway.lines.sip.message.message import Request, Response, reply, set_body, tokens
from gateway.lines.sip.message.multipart import sdp_of
from gateway.lines.sip.transactions.hop import Timers
from gateway.lines.sip.transactions.layer import RequestArrived
from gateway.lines.sip.transactions.matching import Key

PROVISIONAL_EVERY = 60.0
"""RFC 3261, section 13.3.1.1: a proxy cancels what is silent for three minutes."""


class Answering:
    """The INVITE server side of one call."""

    def __init__(self, tx: Key, request: Request, session: DialogSession, timers: Timers) -> None:
        self.state: Literal["new", "ringing", "accepting", "answered", "over"] = "new"
        self._tx = tx
        self._request = request
        self._session = session
        self._timers = timers
        self._answer = b""
        "our description, once their offer was taken"
        self._ringing: Response | None = None
        self._remind: float | None = None
        self._sent_reliably = False
        "a reliable provisional carried our answer"

    @property
    def deadline(self) -> float | None:
        """When `tick` is wanted."""
        return self._remind

    def begin(self) -> list[CallEffect]:
        """Take the offer; refuse what cannot be."""
        shared = self._session.shared
        self._session.renegotiation.learn(self._request)
        if shared.timer.too_small(self._request):
            response = reply(self._request, 422, self._tag)
            response.headers.set("Min-SE", str(shared.timer.smallest))
            return self._refuse(response, "the session interval is too small")
        body = sdp_of(self._request)
        if not body:
            return []  # the offer will be ours, in the 2xx
        try:
            self._answer = shared.media.answer(body)
        except NotAcceptable as error:
            why = str(error)
            refusal = self._refuse(not_acceptable(self._request, why, shared), why)
            return [MediaRefused(why), *refusal]
        return []

    def ring(self, early: bool, now: float) -> list[CallEffect]:
        """Send 180, or 183 with our description."""
        if self.state not in ("new", "ringing") or self._session.provisionals.waiting:
            return []
        self.state = "ringing"
        response = self._response(183 if early else 180)
        reliable = self._reliable()
        if early and self._answer:
            set_body(response, self._answer)
        if reliable:
            self._sent_reliably = self._sent_reliably or bool(response.body)
            response = self._session.provisionals.sent(self._tx, response, now)
        self._ringing = None if reliable else response
        self._remind = now + PROVISIONAL_EVERY
        effects: list[CallEffect] = [SendResponse(self._tx, response)]
        agreed = self._session.shared.media.agreed
        if early and agreed is not None:
            effects.append(MediaAgreed(agreed, early=True))
        return effects

    def _reliable(self) -> bool:
        """Whether provisional responses have to arrive (RFC 3262, section 3)."""
        setting = self._session.shared.settings.reliable
        if "100rel" in tokens(self._request, "Require"):
            return True
        offered = "100rel" in tokens(self._request, "Supported")
        return setting == "required" and offered

    def accept(self, now: float) -> list[CallEffect]:
        """Answer the call, as soon as reliable provisionals are acknowledged."""
        if self.state not in ("new", "ringing", "accepting"):
            return []
        if self._session.provisionals.waiting and self._sent_reliably:
            # RFC 3262, section 3: no 2xx before the PRACK of a response with a description.
            self.state = "accepting"
            return []
        self._session.provisionals.stop()
        self.state, self._remind = "answered", None
        session, shared = self._session, self._session.shared
        session.answered, session.dialog.early = True, False
        response = self._response(200)
        capabilities(response, shared.settings)
        shared.timer.answer(self._request, response, now)
        if not self._answer:
            set_body(response, shared.media.offer())
        elif not self._sent_reliably:
            set_body(response, self._answer)
        shared.acks.sent(self._tx, response, now)
        effects: list[CallEffect] = [SendResponse(self._tx, response)]
        if shared.media.agreed is not None:
            effects.append(MediaAgreed(shared.media.agreed))
        return effects

    def acknowledged(self, now: float) -> list[CallEffect]:
        """A PRACK came: answer if that was waited for."""
        return self.accept(now) if self.state == "accepting" else []

    def reject(self, order: Reject) -> list[CallEffect]:
        """Refuse the call."""
        if self.state not in ("new", "ringing", "accepting"):
            return []
        response = reply(self._request, order.code, self._tag)
        return self._refuse(response, response.phrase, local=True)

    def cancel(self, arrived: RequestArrived) -> list[CallEffect]:
        """Take a CANCEL (RFC 3261, section 9.2); after the final response it changes nothing."""
        effects: list[CallEffect] = [
            SendResponse(arrived.tx, reply(arrived.request, 200, self._tag))
        ]
        if self.state in ("answered", "over"):
            return effects
        effects.append(SendResponse(self._tx, reply(self._request, 487, self._tag)))
        self._end()
        reason = arrived.request.headers.get("Reason") or ""
        return [*effects, Over("remote", "cancelled", 487, reason)]

    def gone(self) -> list[CallEffect]:
        """The dialog ended before the call was answered: end the INVITE too (section 15.1.2)."""
        if self.state in ("answered", "over"):
            return []
        self._end()
        return [SendResponse(self._tx, reply(self._request, 487, self._tag))]

    def tick(self, now: float) -> list[CallEffect]:
        """Say again that it rings."""
        if self._remind is None or now < self._remind:
            return []
        self._remind = now + PROVISIONAL_EVERY
        return [SendResponse(self._tx, self._ringing)] if self._ringing else []

    def _refuse(self, response: Response, reason: str, *, local: bool = False) -> list[CallEffect]:
        self._end()
        by: Literal["local", "failure"] = "local" if local else "failure"
        return [
            SendResponse(self._tx, response),
            Over(by, "refused", response.code, reason),
        ]

    def _end(self) -> None:
        self.state, self._remind = "over", None
        self._session.over = True
        self._session.provisionals.stop()

    @property
    def _tag(self) -> str:
        return self._session.dialog.local.tag

    def _response(self, code: int) -> Response:
        response = reply(self._request, code, self._tag)
        routes = self._request.headers.getlist("Record-Route")
        if routes:
            # RFC 3261, section 12.1.1: copied as they are, in order, also into 1xx.
            response.headers.setlist("Record-Route", list(routes))
        response.headers.set("Contact", self._session.dialog.contact)
        response.headers.set("Server", self._session.shared.settings.agent)
        return response
