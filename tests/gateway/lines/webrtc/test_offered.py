"""Which addresses a browser is offered where none are set."""

from __future__ import annotations

import ipaddress

import pytest

from gateway.lines.webrtc.ice import offered, outward


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_browser_on_this_machine_is_offered_a_way_beside_the_loopback(host: str) -> None:
    first, *others = offered(host)
    assert first == host
    outside = outward(ipaddress.ip_address(host).version)
    assert others == ([outside] if outside else [])
    assert not any(ipaddress.ip_address(one).is_loopback for one in others)


@pytest.mark.parametrize("host", ["192.0.2.7", "2001:db8::7", "voice.example.com"])
def test_others_are_offered_what_their_request_came_to(host: str) -> None:
    assert offered(host) == (host,)
