"""What an operator is told of calls from web pages before anybody calls."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.lines.webrtc.checks import look
from gateway.lines.webrtc.settings import WebrtcSettings

SITE = "https://www.example.com"
KEY = "k" * 32


def found(host: str = "127.0.0.1", **settings: Any) -> list[tuple[str, str]]:
    return list(look(WebrtcSettings(**settings), host))


def test_by_default_this_machine_may_call() -> None:
    assert [state for state, _ in found()] == ["good", "good"]
    assert "owner alone" in found()[0][1]


@pytest.mark.parametrize(
    ("settings", "state", "said"),
    [
        ({"token_key": "short"}, "wrong", "PARLEY_TOKEN_KEY"),
        ({"public": True}, "note", "webrtc.origins"),
        ({"public": True, "origins": (SITE,)}, "note", "anybody"),
        ({"api_key": KEY}, "note", "webrtc.origins"),
        ({"api_key": KEY, "origins": (SITE,)}, "good", SITE),
        ({}, "good", "owner alone"),
    ],
)
def test_who_may_call_is_said(settings: dict[str, Any], state: str, said: str) -> None:
    first = found(**settings)[0]
    assert first[0] == state
    assert said in first[1]


def test_addresses_are_tried() -> None:
    offered = found(addresses=("203.0.113.7/127.0.0.1", "203.0.113.8"))[1:]
    assert offered[0] == ("good", "browsers are offered 203.0.113.7, bound at 127.0.0.1")
    assert offered[1][0] == "wrong"
    assert "203.0.113.8 cannot be bound" in offered[1][1]


def test_a_gateway_that_others_reach_needs_its_address() -> None:
    assert found("0.0.0.0")[1][0] == "note"
    assert "webrtc.addresses" in found("voice.example.com")[1][1]


def test_relays_are_named() -> None:
    told = found(ice=("turn:t.example",), turn_secret="s")
    assert ("good", "pages are told of turn:t.example") in told
