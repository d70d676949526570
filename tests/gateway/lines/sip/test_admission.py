"""Settings, routes and who is let in."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.lines.rtp.codecs import CODECS
from gateway.lines.sip.admission import Admission, Rejection, Verdict
from gateway.lines.sip.dialing import DialOrder, find_route
from gateway.lines.sip.identity import call_info, called_number, caller_of, number_of
from gateway.lines.sip.message.message import Request, parse
from gateway.lines.sip.settings import SipSettings, TrunkSettings
from gateway.lines.sip.transactions.hop import Hop
from gateway.lines.sip.transactions.routing import direct_hops
from tests.gateway.lines.sip.support import FAR, counting, request
from tests.support.sip_answers import Parties


def asked(*more: str, uri: str = "sip:+49-30-1234@192.0.2.1") -> Request:
    message = parse(request("INVITE", *more, uri=uri))
    assert isinstance(message, Request)
    return message


def judged(settings: SipSettings, hop: Hop = FAR, **of: Any) -> Verdict | Rejection:
    return Admission(settings, Parties(), "desk", counting()).judge(asked(**of), hop, 0.0)


TRUNK = TrunkSettings(networks=("192.0.2.0/24",), agent="sales")


def test_a_trunk_is_known_by_its_network_and_may_name_its_agent() -> None:
    verdict = judged(SipSettings(trunks={"t": TRUNK}, users={"a": "b"}))
    assert isinstance(verdict, Verdict)
    assert (verdict.agent, verdict.trunk) == ("sales", "t")


def test_routes_go_before_trunks_and_the_default_comes_last() -> None:
    settings = SipSettings(trunks={"t": TRUNK}, routes={"+4930*": "berlin"})
    assert judged(settings) == Verdict("berlin", "never", "t")
    assert judged(SipSettings(open=True)) == Verdict("desk", "never")
    rejection = judged(SipSettings(open=True, strict_routes=True))
    assert isinstance(rejection, Rejection)
    assert rejection.code == 404


def test_encryption_needs_tls_or_leave() -> None:
    tls = Hop("tls", FAR.host, FAR.port, 1)
    wanted = SipSettings(open=True, srtp="required", srtp_without_tls=False)
    assert isinstance(judged(wanted, tls), Verdict)
    rejection = judged(wanted)
    assert isinstance(rejection, Rejection)
    assert rejection.code == 488
    allowed = judged(SipSettings(open=True, srtp="allowed", srtp_without_tls=True))
    assert isinstance(allowed, Verdict)
    assert allowed.srtp == "allowed"


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"rtp_ports": (16384, 16384)}, "rtp_ports"),
        ({"tls": 5061}, "certificate"),
        ({"codecs": ()}, "codecs"),
        ({"allow": ("nonsense",)}, "nonsense"),
    ],
)
def test_settings_that_cannot_be_name_themselves(settings: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        SipSettings(**settings)


def test_what_does_not_fit_together_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "tls" in str(SipSettings(srtp="required").problem())
    trunk = TrunkSettings(networks=("192.0.2.0/24",), password="$TRUNK_WORD")
    settings = SipSettings(trunks={"t": trunk})
    monkeypatch.delenv("TRUNK_WORD", raising=False)
    assert "TRUNK_WORD" in str(settings.problem())
    monkeypatch.setenv("TRUNK_WORD", "x")
    assert settings.problem() is None
    with pytest.raises(ValueError, match="register"):
        TrunkSettings(register=True)


def test_numbers_lose_their_ornaments() -> None:
    assert number_of("sip:+49-30-(1234)@h") == "+49301234"
    assert number_of("tel:+49-30-1234;phone-context=x") == "+49301234"
    assert number_of("sip:bob.smith@h") == "bob.smith"
    assert number_of("sip:h") == ""
    assert called_number(asked()) == "+49301234"


def test_only_trusted_networks_say_who_calls() -> None:
    message = asked('P-Asserted-Identity: "A" <sip:+4912@carrier>, <tel:+4912>')
    assert caller_of(message, trusted=True) == "+4912"
    assert caller_of(message, trusted=False) == "far"


def test_the_agent_is_told_what_the_headers_say() -> None:
    message = asked(
        "X-Order: 17", "Diversion: <sip:+49@h>;reason=busy", "X-Evil: a\x1b[31m", "Foo: no"
    )
    told = call_info("id", message, "desk", CODECS["pcmu"], trunk="t").variables
    assert told["x-order"] == "17"
    assert "busy" in told["diversion"]
    assert told["x-evil"] == "a [31m"
    assert "foo" not in told
    assert (told["trunk"], told["sip_call_id"]) == ("t", "call@192.0.2.9")


# --- where calls go ---

PROXY = TrunkSettings(
    proxy="sip:sip.example.com;transport=tls", username="u", password="p", caller_id="+4930"
)


def test_numbers_go_through_the_trunk() -> None:
    route = find_route(
        DialOrder("+49 30 12".replace(" ", "")), SipSettings(trunks={"t": PROXY}), "h"
    )
    assert route.target == "sip:+493012@sip.example.com;transport=tls"
    assert route.first == PROXY.proxy
    assert route.local == "<sip:+4930@sip.example.com>"
    assert route.credentials[0].username == "u"


def test_uris_go_by_themselves_unless_a_trunk_is_named() -> None:
    settings = SipSettings(trunks={"t": PROXY})
    assert (
        find_route(DialOrder("sip:a@other.example"), settings, "h").first == "sip:a@other.example"
    )
    named = find_route(DialOrder("sip:a@other.example", trunk="t"), settings, "h")
    assert named.first == PROXY.proxy


@pytest.mark.parametrize("target", ["", "1 2", "a@b", "sip:", "1\r\nEvil: 1", "tel:x y"])
def test_what_is_no_address_is_refused(target: str) -> None:
    with pytest.raises(ValueError):
        find_route(DialOrder(target), SipSettings(trunks={"t": PROXY}), "h")


def test_unknown_trunks_and_headers_are_refused() -> None:
    with pytest.raises(ValueError, match="no trunk named"):
        find_route(DialOrder("1", trunk="x"), SipSettings(), "h")
    order = DialOrder("sip:a@b", headers={"Route": "<sip:evil>"})
    with pytest.raises(ValueError, match="X-"):
        find_route(order, SipSettings(), "h")


FLOW = Hop("udp", "9.9.9.9", 40000)
"""A public address: those of documents count as private ones."""


@pytest.mark.parametrize(
    ("uri", "flow", "nat", "wanted"),
    [
        ("sip:a@192.0.2.5", None, "auto", ("udp", "192.0.2.5", 5060)),
        ("sips:a@192.0.2.5", None, "auto", ("tls", "192.0.2.5", 5061)),
        ("sip:a@192.0.2.5:5070;transport=tcp", None, "auto", ("tcp", "192.0.2.5", 5070)),
        ("sip:a@10.0.0.5", FLOW, "auto", ("udp", "9.9.9.9", 40000)),
        ("sip:a@10.0.0.5", FLOW, "never", ("udp", "10.0.0.5", 5060)),
        ("sip:a@8.8.8.8", FLOW, "auto", ("udp", "8.8.8.8", 5060)),
        ("sip:a@8.8.8.8", FLOW, "always", ("udp", "9.9.9.9", 40000)),
        ("sip:a@[2001:db8::1]:5062", None, "auto", ("udp", "2001:db8::1", 5062)),
    ],
)
def test_numeric_addresses(uri: str, flow: Hop | None, nat: Any, wanted: tuple[Any, ...]) -> None:
    hops = direct_hops(uri, flow, nat)
    assert hops is not None
    assert (hops[0].transport, hops[0].host, hops[0].port) == wanted


def test_names_have_to_be_looked_up_and_connections_are_used_again() -> None:
    assert direct_hops("sip:a@example.com", None) is None
    hops = direct_hops("sip:a@192.0.2.5:5070;transport=tcp", Hop("tcp", "192.0.2.5", 33333, 7))
    assert hops == (Hop("tcp", "192.0.2.5", 5070, 7, "192.0.2.5"),)


@pytest.mark.parametrize(
    ("to", "more", "called", "agent"),
    [
        ("<sip:+49305678@carrier.example>", (), "+49305678", "five"),
        (
            "<sip:acc@carrier.example>",
            ("P-Called-Party-ID: <tel:+49309999>",),
            "+49309999",
            "nine",
        ),
        ("<sip:acc@carrier.example>", (), "acc", "desk"),
    ],
)
def test_a_registrar_calls_our_contact_and_says_elsewhere_which_number(
    to: str, more: tuple[str, ...], called: str, agent: str
) -> None:
    trunk = TrunkSettings(
        networks=("192.0.2.0/24",), proxy="sip:carrier.example", username="acc", register=True
    )
    settings = SipSettings(trunks={"t": trunk}, routes={"+49305678": "five", "+49309999": "nine"})
    message = asked(*more, uri="sip:acc@192.0.2.1:5060")
    message.headers.set("To", to)
    own = settings.registered_users
    assert called_number(message, own) == called
    verdict = Admission(settings, Parties(), "desk", counting()).judge(message, FAR, 0.0)
    assert isinstance(verdict, Verdict)
    assert verdict.agent == agent
    assert call_info("id", message, "desk", CODECS["pcmu"], own=own).callee == called


def test_a_trunk_is_known_on_a_socket_of_both_families() -> None:
    settings = SipSettings(trunks={"t": TRUNK})
    found = settings.trunk_of("::ffff:192.0.2.9")
    assert found is not None
    assert found[0] == "t"
    assert settings.trunk_of("2001:db8::9") is None


def test_our_contact_has_the_user_that_we_call_as() -> None:
    trunk = TrunkSettings(networks=("192.0.2.0/24",), proxy="sip:carrier.example", username="acc")
    assert find_route(DialOrder("+4912"), SipSettings(trunks={"t": trunk}), "h").user == "acc"
    order = DialOrder("+4912", caller_id="+4999")
    assert find_route(order, SipSettings(trunks={"t": trunk}), "h").user == "+4999"
