"""REFER and NOTIFY inside one dialog, in both directions (RFC 3515, 4488, 5589)."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.lines.sip.dialogs.dialog import Dialog
from gateway.lines.sip.dialogs.refer_headers import Handover, read_refer, refer_to, write_fragment
from gateway.lines.sip.dialogs.shared import Shared
from gateway.lines.sip.dialogs.vocabulary import (
    CallEffect,
    Refer,
    ReferDecision,
    Referred,
    SendResponse,
    TransferWent,
)
from gateway.lines.sip.message.message import (
    Request,
    Response,
    clean,
    content_type,
    cseq,
    reply,
    set_body,
)
from gateway.lines.sip.transactions.matching import Key


@dataclass(slots=True)
class _Referral:
    """A REFER of the far side that is being followed."""

    tx: Key | None
    request: Request
    id: str
    "parameter that names the subscription, empty for the first"


class Referrals:
    """Ours, of which there is one at a time, and theirs."""

    def __init__(self, shared: Shared, dialog: Dialog) -> None:
        self._shared = shared
        self._dialog = dialog
        self._handover = Handover()
        self._referral: _Referral | None = None
        self._taken = 0
        "REFERs of the far side so far"

    @property
    def deadline(self) -> float | None:
        """When `tick` is wanted."""
        return self._handover.deadline

    def tick(self, now: float) -> list[CallEffect]:
        """Give up waiting for an outcome."""
        return self._went(self._handover.tick(now))

    def gone(self) -> list[CallEffect]:
        """Take it that the far side hung up."""
        return self._went(self._handover.gone())

    def ask(self, order: Refer, now: float) -> list[CallEffect]:
        """Ask the far side to call someone else."""
        if self._handover.pending:
            return [TransferWent(False, 491, "another transfer is under way")]
        request = self._dialog.request("REFER")
        request.headers.set("Refer-To", refer_to(order.target, order.replaces))
        request.headers.set("Referred-By", f"<{self._dialog.local.uri}>")
        self._handover.began(now + self._shared.settings.transfer_seconds)
        return [self._send("refer", request)]

    def answered(self, response: Response) -> list[CallEffect]:
        """Take the final response to our REFER."""
        quiet = (response.headers.get("Refer-Sub") or "").strip().lower() == "false"
        if quiet and response.code < 300:
            # RFC 4488: accepted, and nothing more will be said.
            return self._went(self._handover.gone())
        return self._went(self._handover.answered(response.code))

    def notified(self, tx: Key, request: Request) -> list[CallEffect]:
        """Take a NOTIFY: how the call that we asked for goes."""
        event = (request.headers.get("Event") or "").partition(";")[0].strip().lower()
        if event != "refer":
            return [self._reply(tx, request, 489)]
        if request.body and content_type(request) not in ("message/sipfrag", ""):
            return [self._reply(tx, request, 415)]
        try:
            outcome = self._handover.notified(request)
        except ValueError:
            return [self._reply(tx, request, 400)]
        return [self._reply(tx, request, 200), *self._went(outcome)]

    def _went(self, outcome: tuple[bool, int, str] | None) -> list[CallEffect]:
        return [] if outcome is None else [TransferWent(*outcome)]

    def asked(self, tx: Key, request: Request) -> list[CallEffect]:
        """Take a REFER of the far side: its owner decides."""
        if not self._shared.settings.refer or self._referral is not None:
            return [self._reply(tx, request, 603)]
        try:
            target, replaces = read_refer(request)
        except ValueError:
            return [self._reply(tx, request, 400)]
        # RFC 3515, section 2.4.6: the first one of a dialog needs no id, and some know none.
        self._taken += 1
        name = f";id={cseq(request).sequence}" if self._taken > 1 else ""
        self._referral = _Referral(tx, request, name)
        by = clean(request.headers.get("Referred-By") or "")
        return [Referred(target, replaces, by)]

    def decide(self, order: ReferDecision) -> list[CallEffect]:
        """Answer the REFER of the far side."""
        referral = self._referral
        if referral is None or referral.tx is None:
            return []
        tx, referral.tx = referral.tx, None
        if not order.accepted:
            self._referral = None
            return [self._reply(tx, referral.request, order.code)]
        response = reply(referral.request, 202)
        response.headers.set("Contact", self._dialog.contact)
        if (referral.request.headers.get("Refer-Sub") or "").strip().lower() == "false":
            response.headers.set("Refer-Sub", "false")
            self._referral = None
            return [SendResponse(tx, response)]
        return [SendResponse(tx, response), *self.progress(100, "Trying")]

    def progress(self, code: int, phrase: str) -> list[CallEffect]:
        """Tell the far side how the call it asked for goes."""
        referral = self._referral
        if referral is None:
            return []
        final = code >= 200
        notify = self._dialog.request("NOTIFY")
        notify.headers.set("Event", f"refer{referral.id}")
        state = "terminated;reason=noresource" if final else "active;expires=60"
        notify.headers.set("Subscription-State", state)
        set_body(notify, write_fragment(code, clean(phrase) or "OK"), "message/sipfrag")
        if final:
            self._referral = None
        return [self._send("notify", notify)]

    def _send(self, purpose: str, request: Request) -> CallEffect:
        self._shared.identify(request)
        return self._shared.outbox.send(purpose, request, self._dialog.next_uri)

    def _reply(self, tx: Key, request: Request, code: int) -> SendResponse:
        return SendResponse(tx, reply(request, code))
