"""How a call is placed: from its INVITE to the 2xx, with forks, challenges and second thoughts.

RFC 3261, sections 13.2 and 9.1; RFC 3262, section 4; RFC 4028, section 7.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from gateway.lines.rtp.offer import Agreement, Negotiation, NotAcceptable
from gateway.lines.sip.dialogs.dialog import Dialog, response_tag
from gateway.lines.sip.dialogs.reliable import Acknowledger
from gateway.lines.sip.dialogs.session import DialogSession
from gateway.lines.sip.dialogs.shared import Shared
from gateway.lines.sip.dialogs.vocabulary import (
    CallEffect,
    Established,
    HangUp,
    MediaAgreed,
    MediaRefused,
    Outcome,
    Over,
    Rang,
    SendAck,
    SendCancel,
    SendRequest,
)
from gateway.lines.sip.message.message import (
    Request,
    Response,
    clean,
    cseq,
    set_body,
)
from gateway.lines.sip.message.multipart import sdp_of
from gateway.lines.sip.transactions.layer import RequestFailed

MAX_FORKS = 8
"""Early dialogs of one call; a hunt group rings a handful of phones."""


@dataclass(frozen=True, slots=True)
class Dial:
    """Whom to call, and as whom."""

    target: str
    "Request-URI"
    local: str
    "our name-addr, without a tag"
    contact: str
    "our Contact value"
    routes: tuple[str, ...] = ()
    "outbound proxies, as Route values"
    headers: tuple[tuple[str, str], ...] = ()


class Placing:
    """The INVITE client side of one call."""

    def __init__(self, dial: Dial, shared: Shared, call_id: str) -> None:
        self.state: Literal["calling", "cancelling", "answered", "over"] = "calling"
        self.session: DialogSession | None = None
        "the dialog that was answered"
        self.tag = shared.ids()
        self._dial = dial
        self._shared = shared
        self._call_id = call_id
        self._forks: dict[str, DialogSession] = {}
        self._acknowledger = Acknowledger()
        self._sequence = 0
        self._label = ""
        self._request: Request | None = None
        self._acks: dict[str, tuple[Request, str]] = {}
        self._until: float | None = None

    @property
    def deadline(self) -> float | None:
        """When `tick` is wanted."""
        return self._until

    @property
    def done(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state == "over" and not self._shared.outbox

    def begin(self, now: float) -> list[CallEffect]:
        """Send the INVITE."""
        self._until = now + self._shared.settings.ring_seconds
        return [self._invite()]

    def _invite(self) -> SendRequest:
        dial, shared = self._dial, self._shared
        self._sequence += 1
        request = Request("INVITE", dial.target)
        headers = request.headers
        if dial.routes:
            headers.setlist("Route", list(dial.routes))
        headers.set("Max-Forwards", "70")
        headers.set("From", f"{dial.local};tag={self.tag}")
        headers.set("To", f"<{dial.target}>")
        headers.set("Call-ID", self._call_id)
        headers.set("CSeq", f"{self._sequence} INVITE")
        headers.set("Contact", dial.contact)
        shared.identify(request)
        shared.timer.ask(request)
        for name, value in dial.headers:
            headers.add(name, clean(value))
        set_body(request, shared.media.offer())
        return self._send(request)

    def _send(self, request: Request) -> SendRequest:
        first = self._dial.routes[0].strip("<>") if self._dial.routes else request.uri
        sent = self._shared.outbox.send("dial", request, first)
        self._label, self._request = sent.label, request
        return sent

    # --- responses

    def response(self, label: str, response: Response, now: float) -> list[CallEffect]:
        """Take a response to the INVITE."""
        if response.code < 200:
            return self._provisional(response)
        if response.code < 300:
            return self._success(response, now)
        if label != self._label or self.state in ("answered", "over"):
            return []
        return self._failure(label, response)

    def failed(self, failed: RequestFailed) -> list[CallEffect]:
        """Take it that nobody answered the INVITE."""
        self._shared.outbox.done(failed.label)
        if failed.label != self._label or self.state == "over":
            return []
        told = self.state == "cancelling"
        self._end()
        if told:
            return []
        outcome: Outcome = "timeout" if failed.reason == "timeout" else "failed"
        code = 408 if failed.reason == "timeout" else 503
        return [Over("failure", outcome, code, f"no answer at all: {failed.reason}")]

    def _provisional(self, response: Response) -> list[CallEffect]:
        if self.state != "calling" or response.code == 100:
            return []
        fork = self._fork(response)
        effects: list[CallEffect] = []
        if fork is not None:
            try:
                agreement = _answer(fork.shared.media, sdp_of(response))
                if agreement is not None:
                    effects.append(MediaAgreed(agreement, early=True))
            except NotAcceptable as error:
                # The final response may bring a better one.
                effects.append(MediaRefused(str(error)))
            ack = self._acknowledger.take(fork.dialog.remote.tag, response)
            if ack is not None:
                request = fork.dialog.request("PRACK")
                request.headers.set("RAck", str(ack))
                self._shared.identify(request)
                effects.append(self._shared.outbox.send("prack", request, fork.dialog.next_uri))
        return [*effects, Rang(response.code, clean(response.phrase))]

    def _fork(self, response: Response) -> DialogSession | None:
        """Return the early dialog of a response, one for each tag of the far side."""
        tag = response_tag(response)
        if not tag or self._request is None:
            return None
        found = self._forks.get(tag)
        if found is not None:
            if cseq(response).sequence == cseq(self._request).sequence:
                found.dialog.refresh(response)
            return found
        if len(self._forks) >= MAX_FORKS:
            return None
        try:
            dialog = Dialog.of_caller(self._request, response, self._dial.contact)
        except ValueError:
            return None
        shared = replace(self._shared, media=self._shared.media.fork())
        session = DialogSession(shared, dialog)
        session.confirmed = True
        session.renegotiation.learn(response)
        self._forks[tag] = session
        return session

    def _success(self, response: Response, now: float) -> list[CallEffect]:
        tag = response_tag(response)
        repeated = self._acks.get(tag)
        if repeated is not None:
            # RFC 3261, section 13.2.2.4: every repetition of a 2xx gets its ACK again.
            return [SendAck(*repeated)]
        session = self._fork(response)
        if session is None:
            return []  # without a tag or with an unreadable route nothing can be sent
        session.dialog.confirm(response)
        ack = session.dialog.request("ACK", sequence=cseq(response).sequence)
        self._acks[tag] = (ack, session.dialog.next_uri)
        effects: list[CallEffect] = [SendAck(ack, session.dialog.next_uri)]
        if self.state != "calling":
            # Another fork was first, or the call was cancelled too late: end this one.
            effects += [e for e in session.hang_up(HangUp()) if not isinstance(e, Over)]
            self._shared.outbox.done(self._label)
            if self.state == "cancelling":
                self._end()
            return effects
        return [*effects, *self._take(session, response, now)]

    def _take(self, session: DialogSession, response: Response, now: float) -> list[CallEffect]:
        self.state, self._until = "answered", None
        self.session = session
        self._shared.outbox.done(self._label)
        session.answered = True
        session.shared.timer.answered(response, now)
        session.renegotiation.learn(response)
        media, body = session.shared.media, sdp_of(response)
        effects: list[CallEffect] = []
        try:
            if media.offering:
                media.accept(body)
            else:
                media.amend(body)
        except NotAcceptable as error:
            over = Over("failure", "failed", 488, str(error))
            hung_up = session.hang_up(HangUp(str(error), 88), over)
            return [MediaRefused(str(error)), *hung_up]
        if media.agreed is not None:
            effects.append(MediaAgreed(media.agreed))
        return [*effects, Established()]

    def _failure(self, label: str, response: Response) -> list[CallEffect]:
        outbox = self._shared.outbox
        if self.state == "calling":
            again = outbox.retry(label, response, self._next_sequence)
            if again is not None:
                self._label, self._request = again.label, again.request
                return [again]
            if response.code == 422 and self._shared.timer.grow(response):
                outbox.done(label)
                self._shared.media.withdraw()
                return [self._invite()]
        outbox.done(label)
        told = self.state == "cancelling"
        self._end()
        if told:
            return []
        return [
            Over(
                "remote",
                outcome_of(response.code),
                response.code,
                clean(response.headers.get("Reason") or response.phrase)[:200],
            )
        ]

    # --- the owner's second thoughts

    def give_up(self, over: Over, now: float) -> list[CallEffect]:
        """Cancel; a 2xx that crosses the CANCEL is acknowledged and ended."""
        if self.state != "calling":
            return []
        self.state = "cancelling"
        self._until = now + self._shared.timers.limit
        return [SendCancel(self._label), over]

    def tick(self, now: float) -> list[CallEffect]:
        """Stop ringing, or stop waiting for the end of what was cancelled."""
        if self._until is None or now < self._until:
            return []
        if self.state == "calling":
            over = Over("failure", "no_answer", 408, "nobody answered in time")
            return self.give_up(over, now)
        # RFC 3261, section 9.1: after 64 T1 a server that knows no CANCEL counts as done.
        self._shared.outbox.done(self._label)
        self._end()
        return []

    def early(self, tag: str) -> DialogSession | None:
        """Return the early dialog with this tag of the far side."""
        return self._forks.get(tag)

    def _end(self) -> None:
        self.state, self._until = "over", None

    def _next_sequence(self) -> int:
        self._sequence += 1
        return self._sequence


def _answer(media: Negotiation, body: bytes) -> Agreement | None:
    """Take what a provisional response describes; None: nothing new."""
    if not body:
        return None
    return media.accept(body) if media.offering else media.amend(body)


def outcome_of(code: int) -> Outcome:
    """Say in words what a final response to an INVITE means."""
    match code:
        case 486 | 600:
            return "busy"
        case 408 | 480:
            return "no_answer"
        case 404 | 410 | 484 | 604:
            return "not_found"
        case 487:
            return "cancelled"
        case 603 | 607 | 608:  # declined; unwanted, rejected as such (RFC 8197, RFC 8688)
            return "refused"
        case _ if code >= 500:
            return "failed"
        case _:
            return "refused"
