"""Answers of tools are cut with a mark."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gateway.tools.bounds import ITEMS, MARK, MOST, TEXT, cut
from gateway.tools.functions import plain

TREES = st.recursive(
    st.text(max_size=3000) | st.integers(),
    lambda inner: st.lists(inner, max_size=80) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=60,
)


def test_what_is_short_stays_as_it_is() -> None:
    assert cut({"times": ["9", "10"]}) == {"times": ["9", "10"]}


def test_a_long_text_and_a_long_list_are_cut_with_a_mark() -> None:
    found = plain({"text": "x" * 2 * MOST, "times": list(range(5000)), "n": 1})
    assert found["text"] == "x" * TEXT + MARK
    assert found["times"][:ITEMS] == list(range(ITEMS))
    assert found["times"][ITEMS] == MARK.strip()
    assert (found["n"], found["cut"]) == (1, True)


@given(st.dictionaries(st.text(max_size=9), TREES, max_size=80))
def test_nothing_is_longer_than_it_may_be(tree: dict[str, Any]) -> None:
    found = cut(tree)
    assert len(json.dumps(found, ensure_ascii=False)) <= MOST + 100
    assert found == tree or found["cut"] is True
