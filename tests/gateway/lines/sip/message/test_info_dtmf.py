"""Keys in INFO bodies, as telephones and gateways write them."""

from __future__ import annotations

import pytest

from gateway.lines.sip.message.info_dtmf import info_body, info_key
from gateway.lines.sip.message.message import Request


def info(kind: str, body: str) -> Request:
    message = Request("INFO", "sip:a@b")
    message.headers.set("Content-Type", kind)
    message.body = body.encode()
    return message


@pytest.mark.parametrize(
    ("kind", "body", "key"),
    [
        ("application/dtmf-relay", "Signal=5\r\nDuration=160\r\n", "5"),
        ("application/dtmf-relay", "signal= 5\nduration=160", "5"),
        ("Application/DTMF-Relay", "SIGNAL=#\r\n", "#"),
        ("application/dtmf-relay", "Duration=160\r\nSignal=11\r\n", "#"),
        ("application/dtmf-relay", "Signal=a", "A"),
        ("application/dtmf", " 7 ", "7"),
        ("application/dtmf", "10", "*"),
    ],
)
def test_every_spelling_is_read(kind: str, body: str, key: str) -> None:
    assert info_key(info(kind, body)) == key


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/dtmf-relay", "Signal=\r\n"),
        ("application/dtmf-relay", "Tone=5"),
        ("application/dtmf", "flash"),
        ("text/plain", "5"),
    ],
)
def test_what_holds_no_key_is_none(kind: str, body: str) -> None:
    assert info_key(info(kind, body)) is None


def test_our_own_are_read_back() -> None:
    assert info_key(info("application/dtmf-relay", info_body("*", 160).decode())) == "*"
