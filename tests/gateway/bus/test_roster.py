"""What the bucket is told of calls: at once, again before it forgets, and no more when they end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.bus.names import Names, key, node_name
from gateway.bus.roster import AGAIN_SECONDS, EXPIRY_SECONDS, Roster
from gateway.bus.wire import Held


def held(call: str) -> Held:
    return Held(call, "host-1", "sip", "inbound", "shop", "2026-01-01T00:00:00Z")


def test_a_call_is_told_at_once_again_in_time_and_forgotten_when_it_ends() -> None:
    roster = Roster()
    roster.began(held("CA1"))
    ((where, said),) = roster.due(0.0)
    assert (where, said is None) == ("CA1", False)
    roster.told(where, said, 0.0)
    assert roster.due(AGAIN_SECONDS - 0.1) == []
    assert [one for one, _ in roster.due(AGAIN_SECONDS)] == ["CA1"]
    assert AGAIN_SECONDS * 2 < EXPIRY_SECONDS  # one that is missed costs nothing
    roster.ended("CA1")
    assert roster.due(1.0) == [("CA1", None)]
    roster.told("CA1", None, 1.0)
    assert roster.due(1000.0) == []


def test_what_the_bucket_did_not_take_is_told_again() -> None:
    roster = Roster()
    roster.began(held("CA1"))
    assert roster.due(0.0) == roster.due(0.0)
    roster.ended("CA1")
    assert roster.due(0.0) == roster.due(9.0) == [("CA1", None)]


def test_a_call_that_ends_while_the_bucket_is_told_of_it_is_forgotten_there() -> None:
    roster = Roster()
    roster.began(held("CA1"))
    ((where, said),) = roster.due(0.0)
    roster.ended("CA1")
    roster.told(where, said, 0.0)
    assert roster.due(0.1) == [("CA1", None)]


def test_a_name_that_comes_again_while_the_bucket_forgets_it_is_told() -> None:
    roster = Roster()
    roster.began(held("CA1"))
    roster.ended("CA1")
    ((where, said),) = roster.due(0.0)
    roster.began(held("CA1"))
    roster.told(where, said, 0.0)
    ((_, again),) = roster.due(0.1)
    assert again is not None


def test_a_server_that_was_away_is_told_of_all_calls() -> None:
    roster = Roster()
    for name in ("CA1", "CA2"):
        roster.began(held(name))
        roster.told(name, b"", 5.0)
    assert roster.due(6.0) == []
    roster.forgotten()
    assert [one for one, _ in roster.due(6.0)] == ["CA1", "CA2"]


def test_the_end_of_an_unknown_call_is_nobodys() -> None:
    roster = Roster()
    roster.ended("CA9")
    assert roster.due(0.0) == []


@given(st.text(min_size=0, max_size=60), st.text(min_size=0, max_size=60))
def test_every_call_has_a_token_of_its_own(one: str, other: str) -> None:
    made = key(one)
    assert made
    assert not set(made) & set(" .*>\t\r\n")
    assert made.isascii()
    assert (made == key(other)) == (one == other)


def test_names_of_nodes_and_subjects() -> None:
    assert node_name("web 1.example", 7) == "web-1-example-7"
    assert node_name("", 7) == "host-7"
    names = Names("acme")
    assert names.event("a.b@c", "turn") == f"acme.events.{key('a.b@c')}.turn"
    assert names.node("n-1") == "acme.node.n-1"
