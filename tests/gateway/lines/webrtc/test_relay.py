"""What a page is told of STUN and TURN."""

from __future__ import annotations

import base64
import hashlib
import hmac

from gateway.lines.webrtc.relay import ice_servers
from gateway.lines.webrtc.settings import WebrtcSettings


def test_a_turn_password_is_what_coturn_computes() -> None:
    settings = WebrtcSettings(
        ice=("stun:s.example", "turn:t.example:3478?transport=udp"),
        turn_secret="north",
        turn_seconds=600.0,
    )
    stun, turn = ice_servers(settings, "WR1", 1_800_000_000.4)
    assert stun.document() == {"urls": "stun:s.example"}
    assert turn.username == "1800000600:WR1"
    digest = hmac.new(b"north", turn.username.encode(), hashlib.sha1).digest()
    assert turn.credential == base64.b64encode(digest).decode()
    assert turn.document() == {
        "urls": "turn:t.example:3478?transport=udp",
        "username": turn.username,
        "credential": turn.credential,
    }


def test_servers_are_named_in_links() -> None:
    settings = WebrtcSettings(ice=("stun:s.example", "turn:t.example"), turn_secret="north")
    stun, turn = (one.link() for one in ice_servers(settings, "WR1", 0.0))
    assert stun == '<stun:s.example>; rel="ice-server"'
    assert turn.startswith('<turn:t.example>; rel="ice-server"; username="3600:WR1"; credential="')
    assert turn.endswith('"; credential-type="password"')
