"""Who may call a SIP line that names nobody, who is who they proved to be, and what logs say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.lines.rtp.codecs import CODECS
from gateway.lines.sip.admission import Rejection, Verdict
from gateway.lines.sip.identity import call_info
from gateway.lines.sip.line import _tell_refusal
from gateway.lines.sip.settings import SipSettings, TrunkSettings
from gateway.lines.sip.transactions.hop import Hop
from gateway.lines.sip.transport.guard import ANSWER_SECONDS, Guard
from tests.gateway.lines.sip.test_admission import asked, judged

LAN, INTERNET = Hop("udp", "192.168.7.9", 5060), Hop("udp", "203.0.113.9", 5060)
REGISTERED = TrunkSettings(proxy="sip:sip.example.com", username="parley", register=True)


@pytest.mark.parametrize(
    ("settings", "lan", "internet"),
    [
        ({}, True, False),
        ({"open": True}, True, True),
        ({"allow": ("203.0.113.0/24",)}, False, True),
        ({"trunks": {"t": TrunkSettings(networks=("203.0.113.0/24",))}}, False, True),
        ({"trunks": {"t": TrunkSettings(proxy="sip:sip.example.com")}}, True, False),
        # A registrar calls from where it answers; nobody else's messages come through the guard.
        ({"trunks": {"t": REGISTERED}}, True, True),
    ],
)
def test_who_may_call_without_proving_anything(
    settings: dict[str, Any], lan: bool, internet: bool
) -> None:
    chosen = SipSettings(**settings)
    assert isinstance(judged(chosen, LAN), Verdict) is lan
    assert isinstance(judged(chosen, INTERNET), Verdict) is internet


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "everybody with a private address"),
        ({"host": "127.0.0.1"}, ""),
        ({"open": True}, "anybody on the internet"),
        ({"allow": ("192.0.2.0/24",)}, ""),
        ({"users": {"alice": "$ALICE"}}, ""),
        ({"trunks": {"t": TrunkSettings(proxy="sip:sip.example.com")}}, "private address"),
    ],
)
def test_what_stands_open_is_said(settings: dict[str, Any], said: str) -> None:
    exposure = SipSettings(**settings).exposure
    assert (said in exposure) if said else not exposure


def test_answers_of_whom_we_asked_are_heard_for_a_while() -> None:
    guard = Guard(["192.0.2.0/24"])
    assert not guard.admits("203.0.113.9", 0.0)
    guard.asked("203.0.113.9", 1.0)
    assert guard.admits("203.0.113.9", ANSWER_SECONDS)
    assert not guard.admits("203.0.113.9", ANSWER_SECONDS + 2.0)
    assert not guard.admits("203.0.113.10", 2.0)


def test_an_authenticated_user_is_who_they_proved_to_be() -> None:
    claims = asked("P-Asserted-Identity: <sip:+4912@carrier>")
    info = call_info("c1", claims, "desk", CODECS["pcmu"], user="alice")
    assert info.caller == "alice"
    assert info.variables["user"] == "alice"


FILTER = Path(__file__).parents[4] / "deploy/fail2ban/parley.conf"


@pytest.mark.parametrize(
    ("refused", "banned"),
    [
        (Rejection(401, "nothing shown"), False),
        (Rejection(401, "old nonce", claimed="alice"), False),
        (Rejection(401, "wrong password", claimed="alice", attempt=True), True),
        (Rejection(401, "unknown user", claimed='a", "host": "8.8.8.8', attempt=True), True),
        (Rejection(404, "no route for this number"), False),
    ],
)
def test_fail2ban_reads_attempts_and_no_first_challenge(refused: Rejection, banned: bool) -> None:
    with capture_logs() as logs:
        _tell_refusal("203.0.113.9", refused)
    (line,) = logs
    (pattern,) = re.findall(r"(?m)^failregex = (.*)$", FILTER.read_text())
    found = re.search(pattern.replace("<HOST>", r"(?P<host>[\w.:]+)"), json.dumps(line))
    assert bool(found) is banned
    if found is not None:
        assert found["host"] == "203.0.113.9"
