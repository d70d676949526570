from __future__ import annotations

import pytest

from gateway.plumbing.locality import is_local


@pytest.mark.parametrize(
    ("address", "headers", "local"),
    [
        ("127.0.0.1", {}, True),
        ("::1", {}, True),
        ("192.0.2.1", {}, False),
        ("127.0.0.1", {"x-forwarded-for": "192.0.2.1"}, False),
        ("", {}, False),
        ("127.0.0.1", {"host": "localhost:8080"}, True),
        ("127.0.0.1", {"host": "rebound.example:8080"}, False),
        ("127.0.0.1", {"host": "["}, False),
        ("127.0.0.1", {"host": "127.0.0.1", "origin": "http://evil.example"}, False),
        ("127.0.0.1", {"host": "127.0.0.1", "origin": "http://localhost:3000"}, True),
    ],
)
def test_what_comes_from_this_machine(address: str, headers: dict[str, str], local: bool) -> None:
    assert is_local(address, headers) is local
