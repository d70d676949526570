"""Passes: each for one call, one agent, one page, and not for long."""

from __future__ import annotations

from itertools import count

import jwt
import pytest

from gateway.lines.webrtc.tokens import METADATA_MOST, Grant, Passes, read_grant

KEY = "s" * 40
NOW = 1_800_000_000.0


def passes(key: str = KEY) -> Passes:
    names = count(1)
    return Passes(key, 60.0, lambda: f"name{next(names)}")


def test_a_pass_says_what_was_granted_and_is_taken_once() -> None:
    desk = passes()
    grant = Grant("desk", "https://a.example", 120.0, "Ada", {"order": 7})
    token, life = desk.write(grant, NOW)
    assert life == 60
    assert desk.look(token, NOW + 1) == grant
    assert desk.take(token, NOW + 1) == grant
    assert desk.take(token, NOW + 2) == "token_used"
    assert desk.look(token, NOW + 2) == "token_used"


def test_a_pass_expires_and_is_forgotten_then() -> None:
    desk = passes()
    token, _ = desk.write(Grant("desk"), NOW)
    used, _ = desk.write(Grant("desk"), NOW)
    desk.take(used, NOW)
    assert desk.take(token, NOW + 59.9) == Grant("desk")
    assert len(desk) == 2
    late, _ = desk.write(Grant("desk"), NOW)
    assert desk.take(late, NOW + 60.1) == "token_expired"
    assert len(desk) == 0


def test_a_shorter_life_is_granted_and_a_longer_one_is_not() -> None:
    desk = passes()
    assert desk.write(Grant("desk", life=5.0), NOW)[1] == 5
    assert desk.write(Grant("desk", life=500.0), NOW)[1] == 60


@pytest.mark.parametrize("change", ["other key", "no signature", "other audience", "cut", "bare"])
def test_what_was_not_written_here_is_invalid(change: str) -> None:
    desk = passes()
    token, _ = desk.write(Grant("desk"), NOW)
    claims = jwt.decode(
        token,
        KEY,
        algorithms=["HS256"],
        options={"verify_aud": False, "verify_exp": False, "verify_iat": False},
    )
    forged = {
        "other key": passes("t" * 40).write(Grant("desk"), NOW)[0],
        "no signature": jwt.encode(claims, None, algorithm="none"),
        "other audience": jwt.encode({**claims, "aud": "else"}, KEY, algorithm="HS256"),
        "cut": token[:-4],
        "bare": jwt.encode({"aud": claims["aud"], "exp": NOW + 9}, KEY, algorithm="HS256"),
    }[change]
    assert desk.take(forged, NOW) == "token_invalid"


def test_a_claim_of_the_wrong_kind_is_invalid() -> None:
    desk = passes()
    token, _ = desk.write(Grant("desk"), NOW)
    claims = jwt.decode(
        token,
        KEY,
        algorithms=["HS256"],
        options={"verify_aud": False, "verify_exp": False, "verify_iat": False},
    )
    odd = jwt.encode({**claims, "seconds": "many"}, KEY, algorithm="HS256")
    assert desk.take(odd, NOW) == "token_invalid"


def test_the_sites_wish_is_read() -> None:
    grant = read_grant(b'{"agent": "desk", "metadata": {"plan": "gold"}, "seconds": 90}')
    assert grant == Grant("desk", metadata={"plan": "gold"}, seconds=90.0)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "malformed|truncated"),
        (b"{}", "agent"),
        (b'{"agent": ""}', "empty"),
        (b'{"agent": "desk", "seconds": 0}', "seconds"),
        (b'{"agent": "desk", "metadata": {"x": "' + b"y" * METADATA_MOST + b'"}}', "longer"),
        (b'{"agent": 7}', "agent"),
    ],
)
def test_a_wish_that_cannot_be_is_refused_in_words(body: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_grant(body)
