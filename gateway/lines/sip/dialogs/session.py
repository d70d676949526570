"""What happens inside a dialog: RFC 3261, sections 12 to 15, with RFC 3311, 4028, 3262 and 3515.

Knows nothing of how the dialog came to be; `answering` and `placing` do.
"""

from __future__ import annotations

import re
from typing import Literal

from gateway.lines.rtp.offer import NotAcceptable
from gateway.lines.sip.dialogs.dialog import Dialog
from gateway.lines.sip.dialogs.referrals import Referrals
from gateway.lines.sip.dialogs.reliable import Provisionals
from gateway.lines.sip.dialogs.renegotiation import Renegotiation
from gateway.lines.sip.dialogs.shared import Shared, capabilities
from gateway.lines.sip.dialogs.vocabulary import (
    CallEffect,
    ChangeMedia,
    Established,
    HangUp,
    KeyCame,
    MediaAgreed,
    MediaRefused,
    Over,
    PressKey,
    Refer,
    ReferDecision,
    ReferProgress,
    SendResponse,
)
from gateway.lines.sip.message.info_dtmf import info_body, info_key
from gateway.lines.sip.message.message import (
    Request,
    Response,
    clean,
    cseq,
    reply,
    set_body,
)
from gateway.lines.sip.message.multipart import sdp_of
from gateway.lines.sip.transactions.layer import AckArrived, RequestArrived
from gateway.lines.sip.transactions.matching import Key


def reason_of(message: Request | Response) -> str:
    """Return the words of a Reason header, or its cause unless that is normal (RFC 3326)."""
    text = clean(message.headers.get("Reason") or "")[:200]
    words = re.search(r'text\s*=\s*"([^"]*)"', text)
    if words:
        return words[1]
    cause = re.search(r"cause\s*=\s*(\d+)", text)
    return text if cause and cause[1] not in ("16", "200") else ""


class DialogSession:
    """One dialog's requests, in both directions."""

    def __init__(self, shared: Shared, dialog: Dialog) -> None:
        self.shared = shared
        self.dialog = dialog
        self.provisionals = Provisionals(1 + shared.draw(1000), shared.timers)
        self.renegotiation = Renegotiation(shared, dialog)
        self.over = False
        self.answered = False
        "the INVITE that began the dialog had its 2xx"
        self.confirmed = False
        "and its ACK"
        self._bye_waits = False
        "BYE may not go before the ACK (RFC 3261, section 15)"
        self._referrals = Referrals(shared, dialog)

    @property
    def deadline(self) -> float | None:
        """When `tick` is wanted."""
        shared = self.shared
        times = (
            shared.acks.deadline,
            None if self.over else shared.timer.deadline,
            None if self.over else self.renegotiation.deadline,
            self.provisionals.deadline,
            self._referrals.deadline,
        )
        return min((time for time in times if time is not None), default=None)

    @property
    def done(self) -> bool:
        """Whether nothing more will happen."""
        return self.over and not self._bye_waits and not self.shared.outbox

    # --- from the far side

    def request(self, arrived: RequestArrived, now: float) -> list[CallEffect]:
        """Take a request that carries this dialog's tags."""
        tx, request = arrived.tx, arrived.request
        if self.over:
            return [self._reply(tx, request, 200 if request.method == "BYE" else 481)]
        if not self.dialog.in_order(request):
            # RFC 3261, section 12.2.2: a lower number came after a higher one.
            return [self._reply(tx, request, 500)]
        match request.method:
            case "INVITE" if not self.answered:
                return [self._later(tx, request)]
            case "INVITE":
                return self.renegotiation.invited(tx, request, now)
            case "UPDATE":
                return self.renegotiation.updated(tx, request, now, settled=self.answered)
            case "BYE":
                return self._bye(tx, request)
            case "PRACK":
                return self._prack(tx, request)
            case "INFO":
                return self._info(tx, request)
            case "REFER":
                return self._referrals.asked(tx, request)
            case "NOTIFY":
                return self._referrals.notified(tx, request)
            case "OPTIONS":
                response = reply(request, 200)
                capabilities(response, self.shared.settings)
                return [SendResponse(tx, response)]
            case _:
                response = reply(request, 405)
                response.headers.set("Allow", ", ".join(self.shared.settings.allow))
                return [SendResponse(tx, response)]

    def ack(self, arrived: AckArrived, now: float) -> list[CallEffect]:
        """Take the ACK of a 2xx of ours."""
        request = arrived.request
        if not self.shared.acks.acknowledged(cseq(request).sequence):
            return []
        effects: list[CallEffect] = []
        if not self.confirmed:
            self.confirmed = True
            if not self.over:
                effects.append(Established())
        if self._bye_waits:
            return self._send_bye(HangUp())
        if self.over or not self.shared.media.offering:
            return effects
        try:
            agreement = self.shared.media.accept(sdp_of(request))
        except NotAcceptable as error:
            refused = MediaRefused(str(error))
            if self.shared.media.agreed is not None:
                return [refused, *effects]
            return [refused, *self._fail(488, str(error))]
        return [MediaAgreed(agreement), *effects]

    def response(self, label: str, response: Response, now: float) -> list[CallEffect]:
        """Take a response to a request of this dialog."""
        outbox = self.shared.outbox
        sent = outbox.of(label)
        if sent is None:
            return []
        if response.code < 200:
            return []
        again = outbox.retry(label, response, self._next_sequence)
        if again is not None:
            return [again]
        if sent.purpose in ("invite", "update"):
            effects = self.renegotiation.response(label, sent, response, now)
        else:
            outbox.done(label)
            effects = self._referrals.answered(response) if sent.purpose == "refer" else []
        if response.code in (408, 481) and sent.purpose != "bye" and not self.over:
            # RFC 3261, section 12.2.1.2; RFC 5057: the far side has lost the dialog.
            return [*effects, *self._fail(response.code, "the far side does not know the call")]
        return effects

    def failed(self, label: str, reason: str, now: float) -> list[CallEffect]:
        """Take it that a request of this dialog got no answer: as 408 would be taken."""
        sent = self.shared.outbox.of(label)
        self.shared.outbox.done(label)
        if sent is None or self.over:
            return []
        if sent.purpose == "refer":
            return self._referrals.answered(Response(408, ""))
        if sent.purpose in ("invite", "update", "prack"):
            self.shared.media.withdraw()
            return self._fail(408, f"no answer to {sent.request.method}: {reason}")
        return []

    # --- from the owner

    def order(
        self,
        order: HangUp | PressKey | Refer | ChangeMedia | ReferDecision | ReferProgress,
        now: float,
    ) -> list[CallEffect]:
        """Take an order."""
        if self.over:
            return []
        match order:
            case HangUp():
                return self.hang_up(order)
            case PressKey(key, milliseconds):
                request = self.dialog.request("INFO")
                set_body(request, info_body(key, milliseconds), "application/dtmf-relay")
                return [self._send("info", request)]
            case Refer():
                return self._referrals.ask(order, now)
            case ChangeMedia(direction):
                return self.renegotiation.change(direction, now)
            case ReferDecision():
                return self._referrals.decide(order)
            case ReferProgress(code, phrase):
                return self._referrals.progress(code, phrase)

    def hang_up(self, order: HangUp, by_failure: Over | None = None) -> list[CallEffect]:
        """End the call; BYE waits for the ACK of our 2xx."""
        if self.over:
            return []
        self.over = True
        self.provisionals.stop()
        by: Literal["failure", "local"] = "failure" if order.failure else "local"
        over = by_failure or Over(by, "hung_up", 0, order.reason)
        effects: list[CallEffect] = [over]
        if self.answered and not self.confirmed:
            self._bye_waits = True
            return effects
        return [*self._send_bye(order), *effects]

    def tick(self, now: float) -> list[CallEffect]:
        """Let time pass."""
        effects: list[CallEffect] = []
        repeat, missed = self.shared.acks.tick(now)
        effects += [SendResponse(tx, response) for tx, response in repeat]
        if missed:
            self.confirmed = True  # as good as it gets: BYE may go now (section 15)
            if self._bye_waits:
                return [*effects, *self._send_bye(HangUp())]
            return [*effects, *self._fail(408, "the answer was not acknowledged")]
        match self.provisionals.tick(now):
            case (tx, response):
                effects.append(SendResponse(tx, response))
            case False:
                effects += self._fail(504, "a provisional response was not acknowledged")
            case _:
                pass
        effects += self._referrals.tick(now)
        if self.over:
            return effects
        match self.shared.timer.tick(now):
            case "refresh":
                effects += self.renegotiation.refresh()
            case "dead":
                effects += self._fail(408, "the session was not refreshed", "timeout")
            case None:
                effects += self.renegotiation.tick(now)
        return effects

    # --- inside

    def _bye(self, tx: Key, request: Request) -> list[CallEffect]:
        self.over = True
        self.shared.acks.stop()
        self.provisionals.stop()
        reason = reason_of(request)
        effects: list[CallEffect] = [self._reply(tx, request, 200)]
        effects += self._referrals.gone()
        return [*effects, Over("remote", "hung_up", 0, reason)]

    def _prack(self, tx: Key, request: Request) -> list[CallEffect]:
        if not self.provisionals.acknowledged(request):
            return [self._reply(tx, request, 481)]
        response = reply(request, 200)
        effects: list[CallEffect] = []
        body = sdp_of(request)
        media = self.shared.media
        if body:
            try:
                if media.offering:
                    agreement = media.accept(body)
                else:
                    set_body(response, media.answer(body))
                    assert media.agreed is not None
                    agreement = media.agreed
            except NotAcceptable as error:
                return [self._reply(tx, request, 488), MediaRefused(str(error))]
            effects.append(MediaAgreed(agreement, early=True))
        return [SendResponse(tx, response), *effects]

    def _info(self, tx: Key, request: Request) -> list[CallEffect]:
        if not request.body:
            return [self._reply(tx, request, 200)]
        key = info_key(request)
        if key is None:
            response = reply(request, 415)
            response.headers.set("Accept", "application/dtmf-relay, application/dtmf")
            return [SendResponse(tx, response)]
        return [self._reply(tx, request, 200), KeyCame(key)]

    # --- small

    def _send_bye(self, order: HangUp) -> list[CallEffect]:
        self._bye_waits = False
        self.shared.acks.stop()
        request = self.dialog.request("BYE")
        reason = clean(order.reason).replace("\\", "").replace('"', "'")
        text = f';text="{reason}"' if reason else ""
        request.headers.set("Reason", f"Q.850;cause={order.code}{text}")
        return [self._send("bye", request)]

    def _fail(self, code: int, reason: str, outcome: str = "failed") -> list[CallEffect]:
        over = Over("failure", "timeout" if outcome == "timeout" else "failed", code, reason)
        # Q.850: 102 is a timer that ran out, 41 a temporary failure.
        cause = 102 if code == 408 else 41
        return self.hang_up(HangUp(reason, cause), over)

    def _send(self, purpose: str, request: Request) -> CallEffect:
        self.shared.identify(request)
        return self.shared.outbox.send(purpose, request, self.dialog.next_uri)

    def _next_sequence(self) -> int:
        self.dialog.local_sequence += 1
        return self.dialog.local_sequence

    def _reply(self, tx: Key, request: Request, code: int) -> SendResponse:
        return SendResponse(tx, reply(request, code))

    def _later(self, tx: Key, request: Request) -> SendResponse:
        response = reply(request, 500)
        response.headers.set("Retry-After", str(1 + self.shared.draw(9)))
        return SendResponse(tx, response)
