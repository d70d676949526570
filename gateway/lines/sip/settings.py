"""What the operator decides about the SIP line."""

from __future__ import annotations

import fnmatch
import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from gateway.doors.callees import check_pattern
from gateway.lines.sip.message.address import ip_of, parse_uri, unmapped

Port = Annotated[int, Meta(ge=0, le=65535)]
Positive = Annotated[float, Meta(gt=0)]


PRIVATE = (
    "127.0.0.0/8",
    "::1/128",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "169.254.0.0/16",
    "fc00::/7",
    "fe80::/10",
)
"""Addresses that the internet does not carry (RFC 1918, 3927, 4193 and 4291)."""


def secret(text: str) -> str:
    """Return a password, or what the environment has under `$NAME`."""
    return os.environ.get(text[1:], "") if text.startswith("$") else text


@dataclass(frozen=True, slots=True)
class TrunkSettings:
    """A carrier or PBX: where its calls come from, and how calls leave through it."""

    proxy: str = ""
    "URI that outbound calls are sent to, as in `sip:sip.example.com;transport=tls`"
    networks: tuple[str, ...] = ()
    "addresses its calls come from, as in `203.0.113.0/24`"
    username: str = ""
    "for digest, when it challenges"
    password: str = field(default="", repr=False, metadata={"secret": True})
    "`$NAME`, taken from the environment"
    realm: str = ""
    "empty: whatever realm asks"
    register: bool = False
    "whether the account is kept registered at the proxy"
    aor: str = ""
    "address of record; empty: `sip:USERNAME@PROXY`"
    expires: Annotated[int, Meta(ge=60)] = 300
    "seconds of a registration"
    caller_id: str = ""
    "user part of From in outbound calls; empty: the user name"
    agent: str = ""
    "answers calls of this trunk that no route names; empty: the line's default"
    srtp: Literal["never", "allowed", "required"] | None = None
    "None: as the line"

    def __post_init__(self) -> None:
        for network in self.networks:
            ipaddress.ip_network(network, strict=False)
        if self.proxy:
            parse_uri(self.proxy)
        if self.register and not (self.proxy and self.username):
            raise ValueError("register is true, so proxy and username must be set")


@dataclass(frozen=True, slots=True)
class SipSettings:
    """Where the SIP line listens, who may call, who answers, and how the line behaves."""

    enabled: bool = False
    host: str = "0.0.0.0"
    "address that sockets are bound to"
    udp: Port | None = 5060
    "0: any free port; leave out with `tcp` or `tls` alone"
    tcp: Port | None = 5060
    tls: Port | None = None
    certificate: Path | None = None
    "PEM file of the TLS certificate chain"
    private_key: Path | None = None
    "PEM file; empty: it is in the certificate's file"
    authorities: Path | None = None
    "PEM file of certificates that far ends are checked against; empty: the system's"
    verify: bool = True
    "whether the certificate of a server we connect to must be right"
    advertised: str = ""
    "address or name others reach this machine by; empty: the one that leads to them"
    domain: str = ""
    "in From of outbound calls and as realm of challenges; empty: the advertised address"
    allow: tuple[str, ...] = ()
    "networks that are listened to besides the trunks'; none, and no users: private addresses"
    open: bool = False
    "let anybody on the internet call, where no trunk, `allow` or `users` says who may"
    rate: Positive = 200.0
    "messages a second that one source may send; a busy trunk sends some 10 per call set up"
    users: Mapping[str, str] = field(default_factory=dict, repr=False, metadata={"secret": True})
    "user names, and the `$NAME` of their passwords, that callers outside the trunks must prove"
    trunks: Mapping[str, TrunkSettings] = field(default_factory=dict)
    routes: Mapping[str, str] = field(default_factory=dict)
    "agents by called number or pattern, as in `+4930*`; the first that matches"
    agent: str = ""
    "answers what no route names; empty: the gateway's default agent"
    strict_routes: bool = False
    "refuse numbers that no route names with 404"
    codecs: tuple[Literal["pcmu", "pcma", "g722", "opus"], ...] = ("pcmu", "pcma")
    "in the order in which they are offered"
    srtp: Literal["never", "allowed", "required"] = "allowed"
    srtp_without_tls: bool = False
    "whether keys may cross the network readable"
    rtp_ports: tuple[Port, Port] = (16384, 32767)
    "from and to; each call takes an even port and the next one"
    ptime_ms: Annotated[int, Meta(ge=10, le=60)] = 20
    progress: Literal["none", "ringing", "early"] = "ringing"
    "what a caller hears of before the answer: nothing, 180, or 183 with sound"
    ring_before_answer: Annotated[float, Meta(ge=0, le=60)] = 0.0
    "seconds a call rings before it is answered"
    reliable: Literal["never", "supported", "required"] = "supported"
    session_expires: Annotated[int, Meta(ge=0)] = 1800
    min_se: Annotated[int, Meta(ge=90)] = 90
    ring_seconds: Positive = 60.0
    "how long an outbound call rings"
    transfer_seconds: Positive = 60.0
    hold_music: Path | None = None
    "sound file that callers hear while a transfer is prepared; empty: a few soft notes"
    dial: tuple[str, ...] = ()
    "whom SIP_API_KEY and a REFER may have called, as in `+4930*` and `sip:1??@pbx.example.com`"
    accept_refer: Literal["never", "trunks", "always"] = "trunks"
    "whose REFER is followed: it makes this machine place a call"
    nat: Literal["auto", "always", "never"] = "auto"
    media_timeout: Annotated[float, Meta(ge=0)] = 30.0
    "seconds without a packet after which the far end is taken for dead; 0: never"
    key_ms: Annotated[int, Meta(ge=40, le=1000)] = 120
    "length of a key that we press"
    key_gap_ms: Annotated[int, Meta(ge=40, le=1000)] = 80
    answering_machine: bool = False
    "in calls that are placed hear first who answers, and leave machines a message after their beep"
    api_key: str = field(default="", repr=False, metadata={"env": "SIP_API_KEY"})
    "lets programs place calls over HTTP; this machine's owner needs none"
    user_agent: str = "Parley"

    def __post_init__(self) -> None:
        for pattern in self.dial:
            check_pattern(pattern)
        for network in self.allow:
            ipaddress.ip_network(network, strict=False)
        low, high = self.rtp_ports
        if high - low < 2:
            raise ValueError(f"rtp_ports is {self.rtp_ports}; it must span at least two ports")
        if self.tls is not None and self.certificate is None:
            raise ValueError("tls is set, so certificate must name a PEM file")
        if not self.codecs:
            raise ValueError("codecs is empty; it needs at least one codec")

    @property
    def missing(self) -> tuple[str, ...]:
        """Environment variables that passwords are to come from and that are not set."""
        texts = (*(trunk.password for trunk in self.trunks.values()), *self.users.values())
        return tuple(text for text in texts if text.startswith("$") and not secret(text))

    @property
    def networks(self) -> tuple[str, ...]:
        """The networks that are named."""
        trunks = tuple(n for trunk in self.trunks.values() for n in trunk.networks)
        return (*self.allow, *trunks)

    @property
    def heard(self) -> tuple[str, ...]:
        """The networks that are listened to; empty: everybody, who prove who they are, or need not.

        Where nobody is named, strangers on the internet are none of ours.
        """
        return self.networks or (() if self.users or self.open else PRIVATE)

    @property
    def exposure(self) -> str:
        """Return who may call without showing anything, where that is more than this machine."""
        if self.networks or self.users:
            return ""
        if self.open:
            return "anybody on the internet may call, and nobody is asked who they are (sip.open)"
        address = ip_of(self.host)
        if address is not None and address.is_loopback:
            return ""
        return (
            f"everybody with a private address may call at {self.host}, and nobody is asked who "
            "they are; name sip.trunks, sip.allow or sip.users"
        )

    def trunk_of(self, host: str) -> tuple[str, TrunkSettings] | None:
        """Find the trunk that an address belongs to."""
        address = unmapped(ipaddress.ip_address(host))
        for name, trunk in self.trunks.items():
            for text in trunk.networks:
                network = ipaddress.ip_network(text, strict=False)
                if address.version == network.version and address in network:
                    return name, trunk
        return None

    @property
    def registered_users(self) -> frozenset[str]:
        """The users of our Contacts at registrars: a number to call is none of them."""
        return frozenset(trunk.username for trunk in self.trunks.values() if trunk.register)

    def agent_for(self, number: str, trunk: TrunkSettings | None) -> str | None:
        """Find who answers a number; "" is the gateway's default agent, None nobody."""
        for pattern, agent in self.routes.items():
            if fnmatch.fnmatchcase(number, pattern):
                return agent
        if self.strict_routes:
            return None
        return (trunk.agent if trunk else "") or self.agent

    def problem(self) -> str | None:
        """Return what does not fit together, for `parley check` and start-up."""
        if self.srtp == "required" and self.tls is None and not self.srtp_without_tls:
            return "srtp is 'required', which needs tls (or srtp_without_tls)"
        if self.missing:
            return f"{', '.join(self.missing)}: set in sip, and not in the environment"
        return None
