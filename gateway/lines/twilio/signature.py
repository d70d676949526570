"""Who signed a request: Twilio's HMAC over the URL and the form, in both of its forms.

Sources: Twilio, "Webhooks security" (`X-Twilio-Signature`: HMAC-SHA1 with the auth token) and
"Sign webhooks with shared keys" (2026: the settings header names SHA-256 and a shared key).
Twilio's own validator is not used, because it tries a `wss` URL with port 80 and never with 443,
and knows nothing of forwarded hosts; the tests hold both together.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, unquote, urlsplit

SIGNATURE = "x-twilio-signature"
SETTINGS = "x-twilio-webhooks-signature-settings"

Form = Sequence[tuple[str, str]]
"""The pairs of a posted form; names may repeat."""


def sign(secret: str, url: str, form: Form = (), algorithm: str = "sha1") -> str:
    """Sign a request as Twilio does: the URL, then each name and value, names sorted."""
    text = url + "".join(name + value for name, value in sorted(set(form)))
    return b64encode(hmac.digest(secret.encode(), text.encode(), algorithm)).decode()


@dataclass(frozen=True, slots=True)
class Request:
    """What of a request is signed, as it arrived here."""

    target: str
    "path and query"
    headers: Mapping[str, str]
    "looked up in lower case"
    form: Form = ()
    body: bytes = b""
    socket: bool = False
    "a WebSocket upgrade, signed with the `wss` URL of the TwiML"


@dataclass(frozen=True, slots=True)
class Signatures:
    """Checks signatures against the secrets and the names under which Twilio knows us."""

    auth_token: str = ""
    shared_key: str = ""
    public_url: str = ""
    "scheme, host, and the path in front of ours if there is one"

    def problem(self, request: Request) -> str | None:
        """Return why a request is not Twilio's, or None if it is."""
        given = request.headers.get(SIGNATURE, "")
        if not given:
            return "not signed"
        settings = request.headers.get(SETTINGS, "")
        algorithm = _algorithm(settings)
        # Without the settings header it is the auth token's signature, whatever else is set.
        secret = self.shared_key if settings else self.auth_token
        if algorithm is None:
            return "signed with an algorithm that is not known here"
        if not secret:
            return "signed with a secret that is not set here"
        form = request.form
        claimed = parse_qs(urlsplit(request.target).query).get("bodySHA256")
        if claimed:  # a JSON body is signed through its hash in the URL
            if not hmac.compare_digest(hashlib.sha256(request.body).hexdigest(), claimed[0]):
                return "the body is not the one that was signed"
            form = ()
        for url in self.urls(request):
            # Bytes, because a header may hold any character.
            if hmac.compare_digest(sign(secret, url, form, algorithm).encode(), given.encode()):
                return None
        return "the signature does not match; is public_url as in the Twilio console?"

    def urls(self, request: Request) -> Iterator[str]:
        """Return the URLs Twilio may have called: proxies change scheme, host and port on the way.

        Without the secret none of them can be signed, so that trying several gives nothing away;
        the path, which says what was asked for, is always the request's own.
        """
        schemes = ("wss", "https", "ws", "http") if request.socket else ("https", "http")
        seen: set[str] = set()
        for authority, prefix in self._authorities(request.headers):
            host, port = _split_port(authority)
            for scheme in schemes:
                secure = scheme in ("wss", "https")
                # Twilio signs with or without the default port; which one is not documented.
                # Its own library tries `wss` with 80.
                for suffix in (f":{port}" if port else "", "", ":443" if secure else ":80", ":80"):
                    for target in _spellings(request.target):
                        url = f"{scheme}://{host}{suffix}{prefix}{target}"
                        if url not in seen:
                            seen.add(url)
                            yield url

    def _authorities(self, headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        if self.public_url:
            public = urlsplit(self.public_url)
            yield public.netloc, public.path.rstrip("/")
        for name in ("x-forwarded-host", "x-original-host", "host"):
            value = headers.get(name, "").split(",")[0].strip()
            if value:
                yield value, ""


def _spellings(target: str) -> Iterator[str]:
    """Return the ways in which a path and query may have been written when they were signed.

    Twilio signs some URLs before it escapes them, and others after somebody else unescaped them
    (twilio-node, pull request 621).
    """
    yield target
    path, mark, query = target.partition("?")
    parts = [part.partition("=") for part in query.split("&")]
    plain = [(unquote(name), equals, unquote(value)) for name, equals, value in parts]
    # What would be read otherwise once it is unescaped is not what was signed.
    if not any(set("&=#%") & set(name + value) for name, _, value in plain):
        yield unquote(path) + mark + "&".join(map("".join, plain))
    escaped = (
        (quote(name, safe=""), equals, quote(value, safe="")) for name, equals, value in plain
    )
    yield path + mark + "&".join(map("".join, escaped))


def _algorithm(settings: str) -> str | None:
    """Read `key=...,algorithm=HMAC_SHA256`; None for one not known."""
    for part in settings.split(","):
        name, _, value = part.partition("=")
        if name.strip() == "algorithm" and value.strip():
            return {"HMAC_SHA1": "sha1", "HMAC_SHA256": "sha256"}.get(value.strip().upper())
    return "sha1"


def _split_port(authority: str) -> tuple[str, str]:
    host, colon, port = authority.rpartition(":")
    return (host, port) if colon and port.isdigit() else (authority, "")
