"""Which addresses of a description are somebody to send sound to."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.lines.rtp.destination import is_nowhere, objection


@pytest.mark.parametrize(
    "host",
    ["192.0.2.9", "10.0.0.1", "127.0.0.1", "2001:db8::9", "::1", "fe80::1%eth0", "0.0.0.0", "::"],
)
def test_hosts_and_the_old_hold(host: str) -> None:
    assert not objection(host)
    assert is_nowhere(host) is (host in ("0.0.0.0", "::"))


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("224.2.1.1", "multicast"),
        ("239.255.255.250", "multicast"),
        ("ff02::1", "multicast"),
        ("::ffff:224.2.1.1", "multicast"),
        ("255.255.255.255", "broadcast"),
        ("::ffff:255.255.255.255", "broadcast"),
        ("240.0.0.1", "no host"),
        ("0.0.0.7", "no host"),
        ("example.com", "not an IP address"),
        ("224.1", "not an IP address"),  # the system would read 224.0.0.1
        ("0", "not an IP address"),
        ("", "not an IP address"),
    ],
)
def test_what_is_never_sent_to(host: str, said: str) -> None:
    assert said in objection(host)


@given(st.ip_addresses())
def test_whatever_is_allowed_is_one_host(address: ipaddress.IPv4Address) -> None:
    if not objection(str(address)):
        assert not address.is_multicast
        assert str(address) != "255.255.255.255"
