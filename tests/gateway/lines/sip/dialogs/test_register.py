"""Registrations: refreshed in time, for twelve hours and through every failure."""

from __future__ import annotations

from gateway.lines.sip.dialogs.register import (
    RETRY,
    Account,
    Register,
    Registered,
    Registration,
    RegistrationEffect,
    RegistrationFailed,
)
from gateway.lines.sip.message.digest import Challenges, Credentials
from gateway.lines.sip.message.message import Request, Response, reply
from tests.gateway.lines.sip.support import counting

ACCOUNT = Account(
    "sip:bot@example.com",
    "sip:example.com",
    "sip:bot@192.0.2.1:5060",
    Credentials("bot", "secret"),
)


def registration() -> Registration:
    return Registration(ACCOUNT, counting())


def sent(effects: list[RegistrationEffect]) -> Register:
    (one,) = (effect for effect in effects if isinstance(effect, Register))
    return one


def granted(request: Request, seconds: int = 300) -> Response:
    response = reply(request, 200, "t")
    response.headers.add("Contact", "<sip:other@192.0.2.50>;expires=17")
    response.headers.add("Contact", f"<sip:bot@192.0.2.1:5060>;expires={seconds}")
    return response


def test_our_own_binding_counts() -> None:
    it = registration()
    asked = sent(it.begin(0.0))
    assert asked.request.headers["Expires"] == "300"
    assert it.answered(asked.label, granted(asked.request, 200), 1.0) == [Registered(200)]
    assert it.deadline == 1.0 + 160.0


def test_twelve_hours_of_renewals() -> None:
    it, now = registration(), 0.0
    asked = sent(it.begin(now))
    count = 0
    until = 12 * 3600.0
    expires_at = 0.0
    while now < until:
        assert it.answered(asked.label, granted(asked.request), now) == [Registered(300)]
        expires_at = now + 300
        assert it.deadline is not None
        now = it.deadline
        assert now < expires_at - 32.0  # time for one more attempt
        asked = sent(it.tick(now))
        count += 1
    assert count == 180
    assert asked.request.headers["CSeq"] == f"{count + 1} REGISTER"


def test_digest_once() -> None:
    it = registration()
    challenges = Challenges("example.com", {"bot": "secret"}, counting())
    asked = sent(it.begin(0.0))
    refusal = reply(asked.request, 401, "t")
    for name, value in challenges.challenge(asked.request, 0.0):
        refusal.headers.add(name, value)
    again = sent(it.answered(asked.label, refusal, 0.1))
    assert challenges.check(again.request, 0.2) == "bot"
    assert again.request.headers["CSeq"] == "2 REGISTER"
    refusal = reply(again.request, 401, "t")
    for name, value in challenges.challenge(again.request, 0.2):
        refusal.headers.add(name, value)
    (failed,) = it.answered(again.label, refusal, 0.3)
    assert isinstance(failed, RegistrationFailed)
    assert failed.code == 401


def test_an_interval_too_brief_is_lengthened() -> None:
    it = registration()
    asked = sent(it.begin(0.0))
    brief = reply(asked.request, 423, "t")
    brief.headers.set("Min-Expires", "900")
    assert sent(it.answered(asked.label, brief, 0.1)).request.headers["Expires"] == "900"


def test_failures_wait_longer_and_longer() -> None:
    it, now = registration(), 0.0
    asked = sent(it.begin(now))
    waits = []
    for _ in range(8):
        (failed,) = it.answered(asked.label, None, now)
        assert isinstance(failed, RegistrationFailed)
        waits.append(failed.retry)
        assert it.deadline is not None
        now = it.deadline
        asked = sent(it.tick(now))
    assert waits == [*RETRY, RETRY[-1], RETRY[-1]]
    it.answered(asked.label, granted(asked.request), now)
    assert it.state == "registered"


def test_answers_of_others_change_nothing() -> None:
    it = registration()
    asked = sent(it.begin(0.0))
    assert it.answered("other", granted(asked.request), 0.1) == []
    assert it.state == "asking"


def test_a_registrar_cannot_make_us_flood_it() -> None:
    it = registration()
    asked = sent(it.begin(0.0))
    it.answered(asked.label, granted(asked.request, 1), 0.0)
    assert it.deadline is not None
    assert it.deadline >= 7.0


def test_a_grant_of_twenty_seconds_is_renewed_before_it_ends() -> None:
    it = registration()
    asked = sent(it.begin(0.0))
    it.answered(asked.label, granted(asked.request, 20), 0.0)
    assert it.deadline is not None
    assert 5.0 <= it.deadline <= 16.0


def test_leaving() -> None:
    it = registration()
    asked = sent(it.begin(0.0))
    it.answered(asked.label, granted(asked.request), 0.1)
    last = sent(it.leave())
    assert last.request.headers["Expires"] == "0"
    assert it.answered(last.label, reply(last.request, 200, "t"), 0.2) == []
    assert it.state == "gone"
    assert it.deadline is None
