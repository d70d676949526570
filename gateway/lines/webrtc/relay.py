"""Which STUN and TURN servers a page is told of, with passwords that soon mean nothing."""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass

from gateway.lines.webrtc.settings import WebrtcSettings


@dataclass(frozen=True, slots=True)
class IceServer:
    """One entry of a page's `iceServers`."""

    urls: str
    username: str = ""
    credential: str = ""

    def document(self) -> dict[str, str]:
        """Return it as `RTCPeerConnection` takes it."""
        document = {"urls": self.urls}
        if self.username:
            document |= {"username": self.username, "credential": self.credential}
        return document

    def link(self) -> str:
        """Write it as a `Link` header (RFC 9725, section 4.4)."""
        parts = [f"<{self.urls}>", 'rel="ice-server"']
        if self.username:
            parts += [
                f'username="{self.username}"',
                f'credential="{self.credential}"',
                'credential-type="password"',
            ]
        return "; ".join(parts)


def ice_servers(settings: WebrtcSettings, name: str, wall: float) -> list[IceServer]:
    """Return the servers for one call; `wall` is the time of day, `name` says whose call it is.

    TURN passwords are made as coturn's `use-auth-secret` checks them after
    draft-uberti-behave-turn-rest:
    the user name begins with the second it expires in, the password is its HMAC.
    """
    username = f"{int(wall + settings.turn_seconds)}:{name}"
    digest = hmac.new(settings.turn_secret.encode(), username.encode(), hashlib.sha1).digest()
    password = base64.b64encode(digest).decode()
    return [
        IceServer(url, username, password) if url.startswith("turn") else IceServer(url)
        for url in settings.ice
    ]
