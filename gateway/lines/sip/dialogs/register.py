"""How one account stays registered (RFC 3261, section 10.2; RFC 5626 in its keep-alive).

                begin     200          401, 407          423      refused, silent  deadline  leave
    idle        asking    -            -                 -        -                -         gone
    asking      asking    registered   asking or failed  asking   failed           -         leaving
    registered  asking    -            -                 -        -                asking    leaving
    failed      asking    -            -                 -        -                asking    gone
    leaving     -         gone         leaving or gone   gone     gone             -         -

A challenge is answered once with each password; refused again, it is a failure, which is tried
again after `RETRY`. An answer to another request than the last is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gateway.lines.sip.message.address import same_uri
from gateway.lines.sip.message.digest import Answers, Credentials
from gateway.lines.sip.message.message import Request, Response, contacts, number

RETRY = (5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds before each further attempt after a failure; the last one repeats."""
SMALLEST = 15
"""Seconds below which a registrar's expiry is not believed, so that it cannot make us flood it."""


@dataclass(frozen=True, slots=True)
class Account:
    """What a registration is about."""

    aor: str
    "address of record, such as `sip:alice@example.com`"
    registrar: str
    "Request-URI"
    contact: str
    "our URI, where calls shall come"
    credentials: Credentials
    expires: int = 300
    "seconds we ask for"
    route: str = ""
    "URI of an outbound proxy; empty: the registrar itself"


@dataclass(frozen=True, slots=True)
class Register:
    """Send this request; its answer comes to `answered`."""

    label: str
    request: Request
    uri: str


@dataclass(frozen=True, slots=True)
class Registered:
    """The account is registered, until then unless refreshed."""

    seconds: int


@dataclass(frozen=True, slots=True)
class RegistrationFailed:
    """The registrar refuses or is silent; another attempt follows in `retry` seconds."""

    code: int
    reason: str
    retry: float


RegistrationEffect = Register | Registered | RegistrationFailed


class Registration:
    """One account's registration, kept fresh."""

    def __init__(self, account: Account, ids: Callable[[], str]) -> None:
        self.state: Literal["idle", "asking", "registered", "failed", "leaving", "gone"] = "idle"
        self.deadline: float | None = None
        "when `tick` is wanted"
        self._account = account
        self._ids = ids
        self._answers = Answers((account.credentials,), ids)
        self._call_id = ids()
        self._tag = ids()
        self._sequence = 0
        self._expires = account.expires
        self._attempts = 0
        self._failures = 0
        self._sent: tuple[str, Request] | None = None

    def begin(self, now: float) -> list[RegistrationEffect]:
        """Register, or refresh."""
        self.state = "asking" if self.state != "leaving" else "leaving"
        self.deadline = None
        self._attempts = 0
        return [self._register(self._expires)]

    def leave(self) -> list[RegistrationEffect]:
        """Take the registration back (section 10.2.2)."""
        if self.state not in ("registered", "asking"):
            self.state, self.deadline = "gone", None
            return []
        self.state, self.deadline, self._attempts = "leaving", None, 0
        return [self._register(0)]

    def tick(self, now: float) -> list[RegistrationEffect]:
        """Let time pass."""
        if self.deadline is None or now < self.deadline:
            return []
        return self.begin(now)

    def answered(
        self, label: str, response: Response | None, now: float
    ) -> list[RegistrationEffect]:
        """Take the final response; None: none came."""
        if self._sent is None or self._sent[0] != label:
            return []
        request = self._sent[1]
        self._sent = None
        if response is None:
            return self._failed(408, "no answer", now)
        if response.code in (401, 407):
            return self._challenged(request, response, now)
        least = number(response, "Min-Expires") or 0
        if response.code == 423 and self._expires < least <= 86_400:
            self._expires = least
            return [self._register(least)]
        if response.code >= 300:
            return self._failed(response.code, response.phrase, now)
        if self.state == "leaving":
            self.state = "gone"
            return []
        return self._registered(response, now)

    def _registered(self, response: Response, now: float) -> list[RegistrationEffect]:
        seconds = self._granted(response)
        self.state, self._failures = "registered", 0
        # Early enough for a lost answer (timer F is 32 s), and never in the last fifth.
        self.deadline = now + max(seconds * 0.5, min(seconds * 0.8, seconds - 40.0))
        return [Registered(seconds)]

    def _granted(self, response: Response) -> int:
        """Find our own binding among all that the registrar lists (section 10.2.4)."""
        try:
            for contact in contacts(response):
                if same_uri(contact.uri, self._account.contact):
                    text = contact.get("expires") or ""
                    if text.isascii() and text.isdigit() and len(text) < 9:
                        return max(SMALLEST, int(text))
        except ValueError:
            pass
        return max(SMALLEST, min(number(response, "Expires") or self._expires, 86_400))

    def _challenged(
        self, request: Request, response: Response, now: float
    ) -> list[RegistrationEffect]:
        again = request.copy()
        if not self._answers.answer(again, response, self._attempts):
            return self._failed(response.code, "the registrar refuses the password", now)
        self._attempts += 1
        self._sequence += 1
        again.headers.set("CSeq", f"{self._sequence} REGISTER")
        return [self._send(again)]

    def _failed(self, code: int, reason: str, now: float) -> list[RegistrationEffect]:
        if self.state == "leaving":
            self.state = "gone"
            return []
        wait = RETRY[min(self._failures, len(RETRY) - 1)]
        self._failures += 1
        self.state, self.deadline = "failed", now + wait
        return [RegistrationFailed(code, reason, wait)]

    def _register(self, expires: int) -> Register:
        account = self._account
        self._sequence += 1
        request = Request("REGISTER", account.registrar)
        headers = request.headers
        if account.route:
            headers.set("Route", f"<{account.route};lr>")
        headers.set("Max-Forwards", "70")
        headers.set("From", f"<{account.aor}>;tag={self._tag}")
        headers.set("To", f"<{account.aor}>")
        headers.set("Call-ID", self._call_id)
        headers.set("CSeq", f"{self._sequence} REGISTER")
        headers.set("Contact", f"<{account.contact}>")
        headers.set("Expires", str(expires))
        return self._send(request)

    def _send(self, request: Request) -> Register:
        label = self._ids()
        self._sent = (label, request)
        return Register(label, request, self._account.route or self._account.registrar)
