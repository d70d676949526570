"""Signatures agree with Twilio's own validator, whatever a proxy did to the URL."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twilio.request_validator import RequestValidator

from gateway.lines.twilio.signature import SETTINGS, SIGNATURE, Request, Signatures, sign

TOKEN = "12345"
KEY = "shared-secret"
SHA256 = "key=webhooks_sharedkey_1,algorithm=HMAC_SHA256"
FORM = [("CallSid", "CA1"), ("From", "+4930"), ("To", "+4940"), ("Digits", "")]

words = st.text(st.characters(min_codepoint=33, max_codepoint=1000), max_size=10)


@given(st.dictionaries(words, words, max_size=6), st.sampled_from(["sha1", "sha256"]))
def test_we_sign_as_twilios_library_does(form: dict[str, str], algorithm: str) -> None:
    theirs = RequestValidator(TOKEN).compute_signature(
        "https://gw.example/voice?a=b", form, f"HMAC_{algorithm.upper()}"
    )
    assert sign(TOKEN, "https://gw.example/voice?a=b", list(form.items()), algorithm) == theirs


def webhook(url: str, headers: dict[str, str], secret: str = TOKEN) -> Request:
    signed = RequestValidator(secret).compute_signature(url, dict(FORM))
    target = "/" + url.split("/", 3)[3]
    return Request(target, {SIGNATURE: signed, **headers}, FORM)


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("https://gw.example/twilio/voice", {"host": "gw.example"}),
        ("https://gw.example/twilio/voice?agent=a", {"host": "gw.example"}),
        ("https://gw.example:443/twilio/voice", {"host": "gw.example"}),
        ("https://gw.example/twilio/voice", {"host": "gw.example:443"}),
        ("https://gw.example:8443/twilio/voice", {"host": "gw.example:8443"}),
        ("http://gw.example/twilio/voice", {"host": "gw.example"}),
        ("http://gw.example:80/twilio/voice", {"host": "gw.example"}),
        # TLS ends in a proxy that calls us by our private name:
        ("https://gw.example/x", {"host": "10.0.0.7:8080", "x-forwarded-host": "gw.example"}),
        ("https://gw.example/x", {"host": "127.0.0.1:8080", "x-original-host": "gw.example"}),
    ],
)
def test_a_webhook_behind_proxies(url: str, headers: dict[str, str]) -> None:
    assert Signatures(TOKEN).problem(webhook(url, headers)) is None
    assert Signatures("another").problem(webhook(url, headers)) is not None


def test_a_public_url_stands_for_what_the_proxy_hides() -> None:
    inside = webhook("https://gw.example/parley/twilio/voice", {"host": "10.0.0.7:8080"})
    request = Request("/twilio/voice", inside.headers, FORM)
    assert Signatures(TOKEN, "", "https://gw.example/parley").problem(request) is None
    assert Signatures(TOKEN).problem(request) is not None


@pytest.mark.parametrize(
    "url",
    [
        "wss://gw.example/twilio/stream",
        "wss://gw.example:443/twilio/stream",
        "https://gw.example/twilio/stream",
        "wss://gw.example:80/twilio/stream",
    ],
)
def test_the_upgrade_is_signed_with_the_socket_url(url: str) -> None:
    signed = RequestValidator(TOKEN).compute_signature(url, {})
    headers = {SIGNATURE: signed, "host": "gw.example"}
    assert Signatures(TOKEN).problem(Request("/twilio/stream", headers, socket=True)) is None
    other = Request("/twilio/other", headers, socket=True)
    assert Signatures(TOKEN).problem(other) is not None


def test_a_webhook_may_not_be_signed_with_a_socket_url() -> None:
    signed = RequestValidator(TOKEN).compute_signature("wss://gw.example/twilio/voice", {})
    headers = {SIGNATURE: signed, "host": "gw.example"}
    assert Signatures(TOKEN).problem(Request("/twilio/voice", headers)) is not None


def test_the_shared_key_is_used_where_the_settings_header_is() -> None:
    url = "https://gw.example/twilio/voice"
    signed = RequestValidator(KEY).compute_signature(url, dict(FORM), "HMAC_SHA256")
    headers = {SIGNATURE: signed, SETTINGS: SHA256, "host": "gw.example"}
    request = Request("/twilio/voice", headers, FORM)
    assert Signatures(TOKEN, KEY).problem(request) is None
    assert "not set" in (Signatures(TOKEN).problem(request) or "")
    without = {SIGNATURE: signed, "host": "gw.example"}
    assert Signatures(TOKEN, KEY).problem(Request("/twilio/voice", without, FORM)) is not None


def test_a_changed_form_does_not_match() -> None:
    request = webhook("https://gw.example/twilio/voice", {"host": "gw.example"})
    changed = Request(request.target, request.headers, [*FORM, ("From", "+49")])
    assert "does not match" in (Signatures(TOKEN).problem(changed) or "")


def test_what_is_missing_or_unknown_is_named() -> None:
    assert Signatures(TOKEN).problem(Request("/x", {"host": "h"})) == "not signed"
    strange = Request("/x", {SIGNATURE: "x", SETTINGS: "algorithm=MD5", "host": "h"})
    assert "algorithm" in (Signatures(TOKEN, KEY).problem(strange) or "")
    foreign = Request("/x", {SIGNATURE: "é☃", "host": "h"})
    assert "does not match" in (Signatures(TOKEN).problem(foreign) or "")


def test_a_json_body_is_signed_through_its_hash() -> None:
    body = b'{"a":1}'
    target = f"/x?bodySHA256={hashlib.sha256(body).hexdigest()}"
    signed = RequestValidator(TOKEN).compute_signature(f"https://gw.example{target}", {})
    headers = {SIGNATURE: signed, "host": "gw.example"}
    assert Signatures(TOKEN).problem(Request(target, headers, (), body)) is None
    assert "body" in (Signatures(TOKEN).problem(Request(target, headers, (), b"{}")) or "")
