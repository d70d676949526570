"""Which requests of a call are under way, what each is for, and its answers to challenges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.lines.sip.dialogs.vocabulary import SendRequest
from gateway.lines.sip.message.digest import Answers
from gateway.lines.sip.message.message import Request, Response, cseq


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that is under way."""

    purpose: str
    request: Request
    next_uri: str
    attempts: int = 0
    "challenges answered so far"


class Outbox:
    """The requests of one call that wait for a final response."""

    def __init__(self, ids: Callable[[], str], answers: Answers) -> None:
        self._ids = ids
        self._answers = answers
        self._sent: dict[str, Sent] = {}

    def __len__(self) -> int:
        return len(self._sent)

    def send(self, purpose: str, request: Request, next_uri: str, attempts: int = 0) -> SendRequest:
        """Begin a request."""
        label = self._ids()
        self._sent[label] = Sent(purpose, request, next_uri, attempts)
        return SendRequest(label, request, next_uri)

    def of(self, label: str) -> Sent | None:
        """Return what a response or failure is about."""
        return self._sent.get(label)

    def waits(self, purpose: str) -> str | None:
        """Return the label of a request that is under way for this purpose."""
        return next((key for key, sent in self._sent.items() if sent.purpose == purpose), None)

    def done(self, label: str) -> None:
        """Forget a request."""
        self._sent.pop(label, None)

    def retry(
        self, label: str, response: Response, sequence: Callable[[], int]
    ) -> SendRequest | None:
        """Answer a 401 or 407 with the same request and credentials; None: there are none.

        RFC 3261, section 22.2: same Call-ID, tags and URI, the sequence number one higher.
        """
        sent = self._sent.get(label)
        if sent is None or response.code not in (401, 407):
            return None
        again = sent.request.copy()
        if not self._answers.answer(again, response, sent.attempts):
            return None
        self.done(label)
        again.headers.set("CSeq", f"{sequence()} {cseq(again).method}")
        return self.send(sent.purpose, again, sent.next_uri, sent.attempts + 1)
