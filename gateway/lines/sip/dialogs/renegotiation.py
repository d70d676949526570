"""How a running call changes its media or is refreshed: re-INVITE and UPDATE, both ways.

RFC 3261, section 14; RFC 3311; RFC 3264, section 8; the roles of RFC 4028.
"""

from __future__ import annotations

from gateway.lines.rtp.offer import NotAcceptable
from gateway.lines.rtp.sdp import Direction
from gateway.lines.sip.dialogs.dialog import Dialog
from gateway.lines.sip.dialogs.outbox import Sent
from gateway.lines.sip.dialogs.shared import Shared, capabilities
from gateway.lines.sip.dialogs.vocabulary import (
    CallEffect,
    MediaAgreed,
    MediaRefused,
    SendAck,
    SendResponse,
)
from gateway.lines.sip.message.message import Request, Response, cseq, reply, set_body, tokens
from gateway.lines.sip.message.multipart import sdp_of, unreadable
from gateway.lines.sip.transactions.matching import Key


class Renegotiation:
    """Offers inside a dialog."""

    def __init__(self, shared: Shared, dialog: Dialog) -> None:
        self._shared = shared
        self._dialog = dialog
        self._wanted: Direction | None = None
        "a change that waits for its turn"
        self._retry: float | None = None
        self._updates = False
        "the far side knows UPDATE"
        self._acks: dict[int, tuple[Request, str]] = {}
        "ACKs sent, for repeated 2xx"

    @property
    def deadline(self) -> float | None:
        """When `tick` is wanted."""
        return self._retry

    def learn(self, message: Request | Response) -> None:
        """Take note of what the far side can do."""
        if message.headers.getlist("Allow"):
            self._updates = "update" in tokens(message, "Allow")

    # --- theirs

    def invited(self, tx: Key, request: Request, now: float) -> list[CallEffect]:
        """Answer a re-INVITE."""
        shared = self._shared
        self.learn(request)
        if self._busy():
            return [SendResponse(tx, reply(request, 491))]
        refusal = self._refusal(request)
        if refusal is not None:
            return [SendResponse(tx, refusal)]
        response = reply(request, 200)
        effects: list[CallEffect] = []
        body = sdp_of(request)
        if body:
            try:
                set_body(response, shared.media.answer(body))
            except NotAcceptable as error:
                return _refused(tx, request, str(error), shared)
            assert shared.media.agreed is not None
            effects.append(MediaAgreed(shared.media.agreed))
        else:
            set_body(response, shared.media.offer())
        self._dialog.refresh(request)
        self._finish(request, response, now)
        shared.acks.sent(tx, response, now)
        return [SendResponse(tx, response), *effects]

    def updated(self, tx: Key, request: Request, now: float, *, settled: bool) -> list[CallEffect]:
        """Answer an UPDATE; `settled`: the first offer of the dialog has its answer."""
        shared = self._shared
        self.learn(request)
        body = sdp_of(request)
        if body and self._busy():
            return [SendResponse(tx, reply(request, 491))]
        if body and not settled and shared.media.agreed is None:
            later = reply(request, 500)
            later.headers.set("Retry-After", str(1 + shared.draw(9)))
            return [SendResponse(tx, later)]
        refusal = self._refusal(request)
        if refusal is not None:
            return [SendResponse(tx, refusal)]
        response = reply(request, 200)
        effects: list[CallEffect] = []
        if body:
            try:
                set_body(response, shared.media.answer(body))
            except NotAcceptable as error:
                return _refused(tx, request, str(error), shared)
            assert shared.media.agreed is not None
            effects.append(MediaAgreed(shared.media.agreed, early=not settled))
        self._dialog.refresh(request)
        self._finish(request, response, now)
        return [SendResponse(tx, response), *effects]

    def _busy(self) -> bool:
        """Whether an offer of ours is under way: glare (RFC 3261, section 14.2)."""
        shared = self._shared
        return shared.outbox.waits("invite") is not None or shared.media.offering

    def _refusal(self, request: Request) -> Response | None:
        if unreadable(request):
            response = reply(request, 415)
            response.headers.set("Accept", "application/sdp")
            return response
        if self._shared.timer.too_small(request):
            response = reply(request, 422)
            response.headers.set("Min-SE", str(self._shared.timer.smallest))
            return response
        return None

    def _finish(self, request: Request, response: Response, now: float) -> None:
        response.headers.set("Contact", self._dialog.contact)
        capabilities(response, self._shared.settings)
        self._shared.timer.answer(request, response, now)

    # --- ours

    def change(self, direction: Direction, now: float) -> list[CallEffect]:
        """Offer the stream with another direction."""
        self._wanted = direction
        if self._busy() or self._shared.acks:
            self._retry = now + self._shared.timers.t1
            return []
        return self._offer()

    def refresh(self) -> list[CallEffect]:
        """Refresh the session: by UPDATE without a body where that is known (RFC 4028, 7.4)."""
        if self._busy():
            return []  # what is under way refreshes as well
        if not self._updates:
            return self._offer()
        request = self._dialog.request("UPDATE")
        self._shared.identify(request)
        self._shared.timer.ask(request)
        return [self._shared.outbox.send("update", request, self._dialog.next_uri)]

    def tick(self, now: float) -> list[CallEffect]:
        """Try again what had to wait."""
        if self._retry is None or now < self._retry:
            return []
        self._retry = None
        if self._busy() or self._shared.acks:
            self._retry = now + self._shared.timers.t1
            return []
        return self._offer()

    def _offer(self) -> list[CallEffect]:
        shared = self._shared
        if self._wanted is not None:
            shared.media.wish(self._wanted)
        request = self._dialog.request("INVITE")
        shared.identify(request)
        shared.timer.ask(request)
        set_body(request, shared.media.offer())
        return [shared.outbox.send("invite", request, self._dialog.next_uri)]

    def response(self, label: str, sent: Sent, response: Response, now: float) -> list[CallEffect]:
        """Take the final response to a re-INVITE or UPDATE of ours."""
        shared = self._shared
        shared.outbox.done(label)
        self.learn(response)
        if response.code < 300:
            return self._accepted(sent, response, now)
        shared.media.withdraw()
        if response.code == 491:
            # RFC 3261, section 14.1: who made the Call-ID waits longer, in units of 10 ms.
            ours = self._dialog.remote_sequence is None
            wait = 2.1 + shared.draw(190) / 100 if ours else shared.draw(200) / 100
            self._again(sent, now + wait)
        elif response.code == 422 and shared.timer.grow(response):
            self._again(sent, now)
        elif response.code in (500, 503) and response.headers.get("Retry-After"):
            self._again(sent, now + 5.0)
        elif response.code not in (408, 481):
            # The session goes on as it was (RFC 3261, section 14.1).
            self._wanted = None
            if sent.purpose == "update":
                self._updates = False
                shared.timer.again(now + 5.0)
        return []

    def _again(self, sent: Sent, when: float) -> None:
        if sent.purpose == "update":
            self._shared.timer.again(when)
        else:
            self._retry = when

    def _accepted(self, sent: Sent, response: Response, now: float) -> list[CallEffect]:
        shared = self._shared
        self._dialog.refresh(response)
        shared.timer.answered(response, now)
        if sent.purpose == "update":
            return []
        sequence = cseq(response).sequence
        ack = self._dialog.request("ACK", sequence=sequence)
        self._acks = {sequence: (ack, self._dialog.next_uri)}
        effects: list[CallEffect] = [SendAck(ack, self._dialog.next_uri)]
        self._wanted = None
        try:
            effects.append(MediaAgreed(shared.media.accept(sdp_of(response))))
        except NotAcceptable as error:
            # The 2xx stands, and the media stay as they were.
            effects.append(MediaRefused(str(error)))
        return effects

    def repeated(self, response: Response) -> list[CallEffect]:
        """Acknowledge a 2xx that came again (RFC 3261, section 13.2.2.4)."""
        kept = self._acks.get(cseq(response).sequence)
        return [SendAck(kept[0], kept[1])] if kept else []


def _refused(tx: Key, request: Request, why: str, shared: Shared) -> list[CallEffect]:
    return [SendResponse(tx, not_acceptable(request, why, shared)), MediaRefused(why)]


def not_acceptable(request: Request, why: str, shared: Shared) -> Response:
    """Build a 488 that says why (RFC 3261, section 20.43: 304 and 305)."""
    response = reply(request, 488)
    response.headers.set("Warning", f'304 {shared.settings.agent} "{why}"')
    return response
