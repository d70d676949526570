"""The caller's last seconds, wherever they lie in the ring."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from media.recent import RecentSound


@given(st.lists(st.integers(1, 40), max_size=40), st.integers(0, 900), st.integers(0, 60))
def test_what_is_kept_is_what_came(lengths: list[int], start: int, length: int) -> None:
    recent = RecentSound(64)
    came = np.zeros(0, dtype=np.int16)
    for each in lengths:
        piece = np.arange(len(came), len(came) + each, dtype=np.int16)
        recent.push(len(came), piece.tobytes())
        came = np.concatenate((came, piece))
    first = max(start, len(came) - 64)
    wanted = came[first : start + length] if first < start + length else came[:0]
    assert np.array_equal(recent.take(start, start + length), wanted)


def test_more_than_is_kept_at_once() -> None:
    recent = RecentSound(10)
    recent.push(0, np.arange(25, dtype=np.int16).tobytes())
    assert recent.take(0, 25).tolist() == list(range(15, 25))
