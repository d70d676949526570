"""What is used of Amazon's SDK beside its public names is still there.

The SDK needs Python 3.12; its sources are read, so that nothing of it has to run.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest


def source(package: str, path: str) -> str:
    """Read a module without importing it."""
    found = find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"not installed: {package} (pip install 'parley[nova]', Python 3.12)")
    return (Path(found.origin).parent / path).read_text("utf-8")


def test_a_request_waits_for_its_answer_in_one_place() -> None:
    text = source("smithy_http", "aio/crt.py")
    assert "class AWSCRTHTTPClient" in text
    assert re.search(r"async def _await_response\(\s*self, stream\b", text)
    assert "await self._await_response(" in text, "it is what is called"


def test_a_stream_keeps_what_it_was_asked_for_in_these_places() -> None:
    text = source("awscrt", "aio/http.py")
    assert re.search(r"self\._writer = self\._loop\.create_task\(", text), "a task for the body"
    for name in ("_completion_future", "_response_status_future", "_response_headers_future"):
        assert f"self.{name} = Future()" in text
