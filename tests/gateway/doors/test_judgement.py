"""Who comes in by which door: by what they show, and by nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.doors import table
from gateway.doors.judgement import Doors, Keys, foreign
from gateway.doors.table import DOORS, Door, Who

DESK = Doors(Keys("the owner's", {"sip_key": "the dialler's", "site_key": "the site's"}))


def shows(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.path)
@pytest.mark.parametrize(
    ("token", "who"),
    [("the owner's", "owner"), ("the dialler's", "sip_key"), ("the site's", "site_key")],
)
def test_a_key_opens_the_doors_that_it_is_for(door: Door, token: str, who: Who) -> None:
    wanted = "everybody" if "everybody" in door.opens else who if who in door.opens else None
    assert DESK.judge(door, shows(token)) == wanted


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.path)
def test_what_was_never_set_opens_nothing(door: Door) -> None:
    nobody = Doors(Keys())
    for headers in ({}, shows(""), {"authorization": "Bearer"}, {"authorization": "Bearer  "}):
        assert nobody.judge(door, headers) == ("everybody" if "everybody" in door.opens else None)


LIES = st.dictionaries(
    st.sampled_from(
        ["host", "origin", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded",
         "x-real-ip", "via", "referer", "cookie", "authorization", "sec-fetch-site"]
    ),
    st.sampled_from(
        ["127.0.0.1", "localhost:8080", "http://127.0.0.1:8080", "null", "for=127.0.0.1",
         "Basic dGhlIG93bmVyJ3M=", "Bearer the owner", "bearer the owner's2", "same-origin", "\x00"]
    ),
)  # fmt: skip


@given(door=st.sampled_from(DOORS), headers=LIES)
def test_nothing_that_a_request_says_of_itself_lets_it_in(
    door: Door, headers: dict[str, str]
) -> None:
    assert DESK.judge(door, headers) in ("everybody", None)


def test_what_the_line_found_opens_its_own_door_alone() -> None:
    assert DESK.judge(table.VOICE, {}, ["signature"]) == "signature"
    assert DESK.judge(table.SIP_CALLS, {}, ["signature", "setting"]) is None


def test_no_page_of_another_host_places_calls_with_whatever_key() -> None:
    key = shows("the dialler's")
    assert DESK.judge(table.SIP_CALLS, key | {"host": "a", "origin": "http://a"}) == "sip_key"
    for origin in ("http://b", "null", "http://[", "http://a:81"):
        headers = key | {"host": "a", "origin": origin}
        assert DESK.judge(table.SIP_CALLS, headers) is None
        assert DESK.refusal(table.SIP_CALLS, headers) == "foreign page"


def test_why_somebody_did_not_come_in_is_told_apart() -> None:
    assert DESK.refusal(table.SIP_CALLS, {}) == "nothing shown"
    assert DESK.refusal(table.SIP_CALLS, shows("wrong")) == "wrong key"


def test_a_program_is_no_page() -> None:
    assert not foreign({"host": "a"})


def test_keys_are_not_printed() -> None:
    assert "owner's" not in repr(Keys("the owner's"))
