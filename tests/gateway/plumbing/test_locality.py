from __future__ import annotations

import pytest

from gateway.plumbing.locality import is_loopback, names_this_machine


@pytest.mark.parametrize(
    ("authority", "here"),
    [
        ("localhost:8080", True),
        ("127.0.0.1", True),
        ("[::1]:8080", True),
        ("rebound.example:8080", False),
        ("localhost.example", False),
        ("192.0.2.1", False),
        ("[", False),
        ("", False),
    ],
)
def test_names_of_this_machine(authority: str, here: bool) -> None:
    assert names_this_machine(authority) is here


@pytest.mark.parametrize(("address", "here"), [("::1", True), ("192.0.2.1", False), ("", False)])
def test_addresses_of_this_machine(address: str, here: bool) -> None:
    assert is_loopback(address) is here
