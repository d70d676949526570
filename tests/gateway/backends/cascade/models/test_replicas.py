from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.backends.cascade.models.replicas import COLD, MOVE, Replicas


def test_a_new_call_goes_where_least_is_done():
    replicas = Replicas(3)
    for place in range(3):
        replicas.answered(place, f"old{place}", "agent")
    replicas.begin(0)
    replicas.begin(2)
    assert replicas.order("new", "agent", 0.0)[0] == 1


def test_instructions_that_are_cached_are_worth_some_load_and_no_more():
    replicas = Replicas(2)
    replicas.answered(0, "old", "agent")
    for _ in range(COLD - 1):
        replicas.begin(0)
    assert replicas.order("new", "agent", 0.0)[0] == 0
    replicas.begin(0)
    replicas.begin(0)
    assert replicas.order("new", "agent", 0.0)[0] == 1


def test_a_call_stays_until_its_server_is_much_busier():
    replicas = Replicas(2)
    replicas.answered(0, "c", "agent")
    replicas.answered(1, "d", "agent")
    for _ in range(MOVE - 1):
        replicas.begin(0)
    assert replicas.order("c", "agent", 0.0)[0] == 0
    for _ in range(2):
        replicas.begin(0)
    assert replicas.order("c", "agent", 0.0)[0] == 1


def test_a_server_that_failed_is_asked_last_and_comes_back():
    replicas = Replicas(2)
    replicas.answered(0, "c", "agent")
    replicas.failed(0, 10.0, 5.0)
    assert replicas.order("c", "agent", 12.0) == [1, 0]
    assert replicas.order("c", "agent", 16.0) == [0, 1]


def test_when_all_rest_the_one_back_soonest_is_asked_first():
    replicas = Replicas(2)
    replicas.failed(0, 10.0, 500.0)
    replicas.failed(1, 10.0, 20.0)
    assert replicas.order("c", "agent", 12.0) == [1, 0]


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abc"), st.booleans()), max_size=40))
def test_every_server_is_always_in_the_order_once(steps: list[tuple[int, str, bool]]):
    replicas = Replicas(3)
    for now, (place, call, good) in enumerate(steps):
        assert sorted(replicas.order(call, "p", float(now))) == [0, 1, 2]
        if good:
            replicas.answered(place, call, "p")
            assert replicas.order(call, "p", float(now))[0] == place
        else:
            replicas.failed(place, float(now), 30.0)
            assert replicas.order(call, "p", float(now))[0] != place or _all_rest(replicas, now)


def _all_rest(replicas: Replicas, now: int) -> bool:
    return all(replica.resting > now for replica in replicas._replicas)
