"""Digest, both ways: who asks, who answers, and what cannot be replayed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.lines.sip.message.digest import (
    MAX_NONCES,
    NONCE_SECONDS,
    Answers,
    Challenges,
    Credentials,
    Unproved,
    parse_digest,
    same_place,
)
from gateway.lines.sip.message.message import Request, Response, parse, reply
from tests.gateway.lines.sip.support import counting, request


def asked(sequence: int = 1) -> Request:
    message = parse(request("INVITE", sequence=sequence))
    assert isinstance(message, Request)
    return message


def challenges() -> Challenges:
    return Challenges("parley", {"alice": "secret"}, counting())


def answers(password: str = "secret") -> Answers:
    return Answers((Credentials("alice", password),), counting())


def challenge(it: Challenges, message: Request, now: float = 0.0) -> Response:
    response = reply(message, 401, "t")
    for name, value in it.challenge(message, now):
        response.headers.add(name, value)
    return response


def test_the_right_password_opens_once() -> None:
    it, message = challenges(), asked()
    assert isinstance(it.check(message, 0.0), Unproved)
    response = challenge(it, message)
    assert answers().answer(message, response, 0)
    assert "algorithm=SHA-256" in message.headers["Authorization"]
    assert it.check(message, 1.0) == "alice"
    assert it.check(message, 2.0) == Unproved("old nonce", "alice")  # a replay


def test_a_nonce_serves_further_requests_by_counting() -> None:
    it, mine = challenges(), answers()
    first = asked()
    response = challenge(it, first)
    assert mine.answer(first, response, 0)
    assert it.check(first, 1.0) == "alice"
    second = asked(2)
    assert mine.answer(second, response, 0)
    assert parse_digest(second.headers["Authorization"])["nc"] == "00000002"
    assert it.check(second, 2.0) == "alice"


def test_the_wrong_password_and_unknown_users_stay_out() -> None:
    it, message = challenges(), asked()
    assert answers("wrong").answer(message, challenge(it, message), 0)
    assert it.check(message, 1.0) == Unproved("wrong password", "alice")
    stranger = asked()
    other = Answers((Credentials("mallory", "secret"),), counting())
    assert other.answer(stranger, challenge(it, stranger), 0)
    assert it.check(stranger, 1.0) == Unproved("unknown user", "mallory")


def test_a_proof_is_for_the_address_that_was_asked_for() -> None:
    it, message = challenges(), asked()
    assert answers().answer(message, challenge(it, message), 0)
    overheard = message.headers["Authorization"]
    other = parse(request("INVITE", uri="sip:+19005550123@192.0.2.1"))
    assert isinstance(other, Request)
    other.headers.set("Authorization", overheard)
    assert it.check(other, 1.0) == Unproved("proof for another address", "alice")
    assert it.check(message, 1.0) == "alice"  # the attempt used nothing up


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("sip:100@pbx.example.com", "sip:100@PBX.example.com:5060;transport=tcp", True),
        ("sip:100@pbx.example.com", "sip:101@pbx.example.com", False),
        ("sip:100@pbx.example.com", "sip:100@pbx.example.com:5070", False),
        ("sip:pbx.example.com", "sip:100@pbx.example.com", False),
        ("nonsense", "sip:100@pbx.example.com", False),
    ],
)
def test_when_two_addresses_are_one_place(one: str, other: str, same: bool) -> None:
    assert same_place(one, other) is same


def test_what_happens_to_everybody_is_told_apart_from_attempts() -> None:
    assert not Unproved("nothing shown").attempt
    assert not Unproved("old nonce", "alice").attempt
    assert Unproved("wrong password", "alice").attempt
    assert Unproved("unknown user", "mallory").attempt


def test_a_stale_nonce_is_said_to_be_stale_and_answered_again() -> None:
    it, message, mine = challenges(), asked(), answers()
    assert mine.answer(message, challenge(it, message), 0)
    late = NONCE_SECONDS + 1.0
    assert isinstance(it.check(message, late), Unproved)
    response = challenge(it, message, late)
    assert all("stale=true" in line for line in response.headers.getlist("WWW-Authenticate"))
    assert mine.answer(message, response, 1)
    assert it.check(message, late + 1.0) == "alice"


def test_a_refused_password_is_not_tried_for_ever() -> None:
    it, message, mine = challenges(), asked(), answers("wrong")
    assert mine.answer(message, challenge(it, message), 0)
    assert not mine.answer(message, challenge(it, message), 1)
    stale = Response(401, "")
    stale.headers.set("WWW-Authenticate", 'Digest realm="r", nonce="n", stale=true')
    assert not mine.answer(message, stale, 2)


def test_nonces_are_bounded() -> None:
    it = challenges()
    for _ in range(MAX_NONCES + 10):
        challenge(it, asked())
    assert len(it) == MAX_NONCES


def test_the_example_of_rfc_2617() -> None:
    response = Response(401, "")
    response.headers.set(
        "WWW-Authenticate",
        'Digest realm="testrealm@host.com", qop="auth,auth-int", '
        'nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41"',
    )
    mine = Answers((Credentials("Mufasa", "Circle Of Life"),), lambda: "0a4f113b")
    message = Request("GET", "/dir/index.html")
    assert mine.answer(message, response, 0)
    given_back = parse_digest(message.headers["Authorization"])
    assert given_back["response"] == "6629fae49393a05397450978507c4ef1"
    assert given_back["opaque"] == "5ccc069c403ebaf9f0171e9517f40e41"


def test_the_oldest_form_without_qop() -> None:
    response = Response(407, "")
    response.headers.set("Proxy-Authenticate", 'Digest realm="r", nonce="n"')
    message = asked()
    assert answers().answer(message, response, 0)
    line = message.headers["Proxy-Authorization"]
    assert "qop" not in line
    assert "nc=" not in line


def test_the_best_algorithm_that_is_known_and_the_right_realm() -> None:
    response = Response(401, "")
    for line in (
        'Basic realm="x"',
        'Digest realm="r", nonce="n", algorithm=SHA-512-256',
        'Digest realm="r", nonce="n", algorithm=MD5, qop="auth-int"',
        'Digest realm="other", nonce="n"',
        'Digest realm="r", nonce="n2", qop="auth"',
    ):
        response.headers.add("WWW-Authenticate", line)
    message = asked()
    mine = Answers((Credentials("a", "b", "r"),), counting())
    assert mine.answer(message, response, 0)
    assert parse_digest(message.headers["Authorization"])["nonce"] == "n2"


@given(st.text(max_size=200))
def test_no_header_raises(text: str) -> None:
    it, message = challenges(), asked()
    message.headers.set("Authorization", "Digest " + text)
    assert isinstance(it.check(message, 0.0), Unproved)
    response = Response(401, "")
    response.headers.set("WWW-Authenticate", "Digest " + text)
    answers().answer(asked(), response, 0)


def test_secrets_are_not_shown() -> None:
    assert "hunter2" not in repr(Credentials("alice", "hunter2"))


def test_a_proxys_challenge_and_then_the_callees_are_two() -> None:
    message, mine = asked(), answers()
    proxy, callee, other = Response(407, ""), Response(401, ""), Response(407, "")
    proxy.headers.set("Proxy-Authenticate", 'Digest realm="carrier", nonce="n"')
    callee.headers.set("WWW-Authenticate", 'Digest realm="pbx", nonce="m"')
    other.headers.set("Proxy-Authenticate", 'Digest realm="carrier", nonce="o"')
    assert mine.answer(message, proxy, 0)
    assert mine.answer(message, callee, 1)
    assert parse_digest(message.headers["Proxy-Authorization"])["realm"] == "carrier"
    assert parse_digest(message.headers["Authorization"])["realm"] == "pbx"
    assert not mine.answer(message, other, 2)  # the password that the carrier had was wrong
