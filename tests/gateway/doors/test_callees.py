"""Whom a list of patterns lets be called, and what only looks as if it did."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.doors.callees import allowed, check_pattern, plain


@pytest.mark.parametrize(
    ("target", "pattern", "may"),
    [
        ("+49 30 1234-56", "+4930*", True),
        ("tel:+4930123456", "+4930*", True),
        ("+4930", "+4930*", True),
        ("+19005550123", "+4930*", False),
        ("+4930*21*0190", "+4930*", False),  # a feature code is no digits
        ("0190123", "*", True),
        ("101", "1??", True),
        ("1001", "1??", False),
        ("reception", "reception", True),
        ("+4930", "4930", False),
        ("sip:101@pbx.example.com", "sip:1??@pbx.example.com", True),
        ("sip:101@PBX.example.com;transport=tcp", "sip:1??@pbx.example.com", True),
        ("sips:101@pbx.example.com", "sip:1??@pbx.example.com", True),
        ("sip:101@pbx.example.com", "sips:1??@pbx.example.com", False),
        ("sip:premium@evil.example", "sip:*@pbx.example.com", False),
        ("sip:101@pbx.example.com:5999", "sip:1??@pbx.example.com", False),
        ("sip:101@anything.example:5999", "sip:1??@*", True),
        ("sip:+4930123@evil.example", "+4930*", False),
        ("+4930123", "sip:*@*", False),
        ("sip:pbx.example.com", "sip:*@pbx.example.com", True),
        ("sip:evil.example", "sip:*@pbx.example.com", False),
    ],
)
def test_what_a_pattern_allows(target: str, pattern: str, may: bool) -> None:
    check_pattern(pattern)
    assert allowed(plain(target), [pattern]) is may


@pytest.mark.parametrize(
    "target",
    [
        "sip:101@evil.example;x=@pbx.example.com",
        "sip:101@pbx.example.com;maddr=203.0.113.9",
        "sip:101@pbx.example.com?Route=%3Csip:evil.example%3E",
        "sip:101@pbx.example.com>,<sip:evil.example",
        "sip:101:secret@pbx.example.com",
        "sip:a@b@pbx.example.com",
        "sip:*@*",
        "https://example.com",
        "+49\r\nX: y",
        "",
        "a b",
        "+" + "1" * 70,
    ],
)
def test_what_is_no_callee(target: str) -> None:
    with pytest.raises(ValueError, match="neither a number"):
        plain(target)


@pytest.mark.parametrize(
    "pattern", ["", "sip:*", "[0-9]+", "+49 30*", "sip:*@*.example.com", "**@x"]
)
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(ValueError, match="is no pattern"):
        check_pattern(pattern)


@given(st.text(alphabet="+0123456789*#?sip:@.;=x- \r\n<>", max_size=40))
def test_nothing_leaves_the_host_that_a_pattern_names(text: str) -> None:
    try:
        target = plain(text)
    except ValueError:
        return
    if allowed(target, ["sip:*@0.1"]):
        assert target.lower().partition("@")[2].split(";")[0] == "0.1"
