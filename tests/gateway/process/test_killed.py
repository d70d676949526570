"""A gateway that is killed while it holds calls: the next one finishes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.faults.kills import kills

MOMENTS = 2
"""`make kills` tries a hundred."""


@pytest.mark.live
@pytest.mark.real_time
async def test_what_a_killed_gateway_held_is_finished_by_the_next(tmp_path: Path) -> None:
    assert await kills(tmp_path, MOMENTS, 4, 11) == []
