"""Those who call without a pass: so many at once, so many in an hour."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.lines.webrtc.limits import HOUR, PublicLimits, Visitor
from gateway.lines.webrtc.settings import WebrtcSettings

SETTINGS = WebrtcSettings(
    public=True, public_calls=3, public_per_origin=2, public_per_address=2, public_per_hour=3
)
A = Visitor("https://a.example", "192.0.2.1")
B = Visitor("https://b.example", "192.0.2.1")
C = Visitor("https://a.example", "192.0.2.2")
D = Visitor("https://b.example", "192.0.2.3")


def test_an_address_has_so_many_calls_at_once() -> None:
    limits = PublicLimits(SETTINGS)
    limits.begin(A, 0.0)
    limits.begin(B, 1.0)
    assert limits.wait(A, 2.0) == 15
    limits.end(B)
    assert limits.wait(A, 2.0) is None


def test_a_page_has_so_many_calls_at_once() -> None:
    limits = PublicLimits(SETTINGS)
    limits.begin(A, 0.0)
    limits.begin(C, 0.0)
    assert limits.wait(Visitor(A.origin, "192.0.2.9"), 0.0) is not None
    assert limits.wait(D, 0.0) is None


def test_all_together_have_so_many_calls_at_once() -> None:
    limits = PublicLimits(SETTINGS)
    for visitor in (A, B, D):
        limits.begin(visitor, 0.0)
    assert limits.wait(Visitor("https://c.example", "192.0.2.9"), 0.0) is not None


def test_an_address_begins_so_many_calls_in_an_hour() -> None:
    limits = PublicLimits(SETTINGS)
    for at in (0.0, 100.0, 200.0):
        assert limits.wait(A, at) is None
        limits.begin(A, at)
        limits.end(A)
    assert limits.wait(A, 300.0) == HOUR - 300
    assert limits.wait(C, 300.0) is None
    assert limits.wait(A, HOUR + 1) is None


@given(st.lists(st.tuples(st.sampled_from([A, B, C, D]), st.booleans()), max_size=40))
def test_no_limit_is_ever_passed(moves: list[tuple[Visitor, bool]]) -> None:
    limits, now = PublicLimits(SETTINGS), 0.0
    current: list[Visitor] = []
    for visitor, ends in moves:
        now += 1.0
        if ends and visitor in current:
            current.remove(visitor)
            limits.end(visitor)
        elif limits.wait(visitor, now) is None:
            current.append(visitor)
            limits.begin(visitor, now)
        assert len(current) <= 3
        for one in current:
            assert sum(each.origin == one.origin for each in current) <= 2
            assert sum(each.address == one.address for each in current) <= 2
    for visitor in current:
        limits.end(visitor)
    assert limits.wait(Visitor("https://new.example", "192.0.2.99"), now) is None
