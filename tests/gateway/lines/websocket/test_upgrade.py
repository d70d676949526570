"""An upgrade goes to the line that has its path, or nowhere."""

from __future__ import annotations

import pytest
from twilio.request_validator import RequestValidator

from gateway.lines.twilio.settings import TwilioSettings
from gateway.log_events import CallRefusedLogged
from tests.gateway.lines.twilio.harness import OWNS, UPGRADE, Served, serving, upgrade

SIGNED = TwilioSettings(auth_token="12345")


async def answer(served: Served, head: str = UPGRADE, extra: str = OWNS) -> str:
    raw, text = await upgrade(served, head, extra)
    raw.writer.close()
    await raw.writer.wait_closed()
    return text


def signature(url: str, token: str = "12345") -> str:
    return f"X-Twilio-Signature: {RequestValidator(token).compute_signature(url, {})}\r\n"


async def test_a_list_of_connection_options_is_taken() -> None:
    async with serving() as served:
        head = await answer(served)
    assert head.startswith("HTTP/1.1 101")
    # RFC 6455, section 1.3: the answer to its example key.
    assert "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head


@pytest.mark.parametrize(
    ("url", "token", "status"),
    [
        ("wss://gw.example/twilio/stream", "12345", "101"),
        ("https://gw.example/twilio/stream", "12345", "101"),
        ("wss://gw.example/twilio/stream", "wrong", "403"),
        ("wss://gw.example/twilio/other", "12345", "403"),
    ],
)
async def test_signatures_are_checked_at_the_upgrade(url: str, token: str, status: str) -> None:
    async with serving(SIGNED) as served:
        head = UPGRADE.replace("localhost", "gw.example")
        got = await answer(served, head, extra=signature(url, token))
        assert got.startswith(f"HTTP/1.1 {status}")
    assert len(served.answer.turned_away) == (status == "403")


async def test_an_unsigned_upgrade_is_refused_where_a_token_is_set() -> None:
    async with serving(SIGNED) as served:
        got = await answer(served, extra="")
    assert got.startswith("HTTP/1.1 403")


async def test_without_a_secret_only_the_owner_comes_in_from_wherever() -> None:
    async with serving() as served:
        owner, local = await answer(served), await answer(served, extra="")
    assert owner.startswith("HTTP/1.1 101")
    assert local.startswith("HTTP/1.1 403")
    (missed,) = served.answer.turned_away
    assert isinstance(missed, CallRefusedLogged)
    assert missed.cause == "signature"
    assert "TWILIO_AUTH_TOKEN" in (missed.said or "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 12"),
        ("dGhlIHNhbXBsZSBub25jZQ==", "short"),
        ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", ""),
        ("GET", "POST"),
    ],
)
async def test_a_malformed_upgrade_is_a_bad_request(old: str, new: str) -> None:
    async with serving() as served:
        got = await answer(served, UPGRADE.replace(old, new))
    assert got.startswith("HTTP/1.1 400")


async def test_other_paths_are_not_found() -> None:
    async with serving() as served:
        got = await answer(served, UPGRADE.replace("/twilio/stream", "/elsewhere?a=b"))
    assert got.startswith("HTTP/1.1 404")
