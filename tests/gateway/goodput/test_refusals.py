"""Which refusals are the server's capacity, which are another limit, and which are none."""

from __future__ import annotations

import pytest

from gateway.goodput.refusals import refusal


@pytest.mark.parametrize(
    ("reason", "cause", "limiter"),
    [
        ("the socket was refused: HTTP 503", "", "capacity"),
        ("the webhook answered 503", "", "capacity"),
        ("the webhook answered with reject busy", "", "capacity"),
        ("1013 busy: calls", "", "capacity"),
        ("503 Service Unavailable", "", "capacity"),
        ("486 Busy Here", "", "capacity"),
        ("486 Busy Here", "late", "capacity"),
        ("503 Service Unavailable", "ports", "ports"),
        ("the socket was refused: HTTP 429", "", "rate"),
        ("the socket was refused: HTTP 403", "", "door"),
        ("the webhook answered with reject rejected", "", "door"),
        ("the webhook answered with reject busy", "draining", "door"),
        ("403 Forbidden", "forbidden", "door"),
        ("1008 no token", "", "door"),
        ("[Errno 99] Cannot assign requested address", "", "ports"),
        ("the socket was refused: [Errno 24] Too many open files", "", "files"),
        ("the socket was refused: timeout", "", None),
        ("the socket was refused: HTTP 500", "", None),
        ("408 no answer at all: timeout", "", None),
        ("500 Server Internal Error", "", None),
        ("1006 connection lost", "", None),
        ("1011 internal error", "", None),
    ],
)
def test_reasons(reason: str, cause: str, limiter: str | None) -> None:
    found = refusal(reason, cause)
    assert (found and found.limiter) == limiter
    assert found is None or found.said.startswith(reason)
