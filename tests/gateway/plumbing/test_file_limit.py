"""Open files are enough for the calls that are allowed, or it is said at the start."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from gateway.plumbing import file_limit
from gateway.plumbing.starting import StartFailed


@pytest.fixture
def hard() -> Iterator[int]:
    """What this process may be allowed at most; put back what it had."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield limits[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_low_limit_is_raised_to_what_the_calls_need(hard: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    file_limit.ensure(50)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (file_limit.wanted(50), hard)
    file_limit.ensure(1)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (file_limit.wanted(50), hard)


def test_more_calls_than_files_are_refused_at_the_start(hard: int) -> None:
    calls = hard // file_limit.EACH_CALL + 1
    with pytest.raises(StartFailed, match=rf"^limits.calls: {calls} calls may need \d+ open files"):
        file_limit.ensure(calls)
