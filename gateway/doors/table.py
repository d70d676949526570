"""The doors: every HTTP path and socket of the gateway, and to whom it opens.

docs/security.md is made of this table, `make test-doors` tries every line of it, and a path that
does not stand here is not served.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Who = Literal[
    "everybody",
    "owner",
    "sip_key",
    "site_key",
    "scraper",
    "pass",
    "signature",
    "ticket",
    "address",
    "setting",
    "sees",
    "acts",
    "password",
]

WORDS: dict[Who, str] = {
    "everybody": "everybody",
    "owner": "this machine's owner",
    "sip_key": "whoever shows `SIP_API_KEY`",
    "site_key": "whoever shows `PARLEY_API_KEY`",
    "scraper": "whoever shows `PARLEY_METRICS_TOKEN`",
    "pass": "a visitor with a token of the site's, once",
    "signature": "whoever signs as Twilio does",
    "ticket": "who was given a ticket by the webhook, once",
    "address": "whoever knows the call's unguessable address",
    "setting": "everybody, by setting",
    "sees": "whom `web.users` let see calls, by password or by the proxy that names them",
    "acts": "whom `web.users` let act on calls",
    "password": "whoever shows a name and a password of `web.users`",
}


@dataclass(frozen=True, slots=True)
class Door:
    """One way in."""

    path: str
    methods: tuple[str, ...]
    "`WEBSOCKET` is one more"
    opens: tuple[Who, ...]
    gives: str
    "what somebody gets who comes in"
    setting: str = ""
    "opens it to everybody"
    pages: bool = True
    "pages of other hosts may ask, as far as the browser lets them"


PAGE = Door("/", ("GET", "HEAD"), ("everybody",), "the page, without a word of any call")
PAGE_FILES = Door(
    "/console/{file}", ("GET", "HEAD"), ("everybody",), "the page's script, style and icon"
)
ICON = Door("/favicon.ico", ("GET", "HEAD"), ("everybody",), "the icon")
STATUS = Door(
    "/console/status", ("GET", "HEAD"), ("everybody",),
    "whether calls are shown; lines, agents and counts only to whom they are",
)  # fmt: skip
CALLS = Door(
    "/console/calls", ("GET", "HEAD"), ("owner", "setting"),
    "the latest calls, words included", 'web.calls = "open"',
)  # fmt: skip
SHOWN: tuple[Who, ...] = ("owner", "sees", "setting")

CALL_PAGE = Door("/calls", ("GET", "HEAD"), ("everybody",), "the call browser, without any call")
CALL_LIST = Door(
    "/calls/list", ("GET", "HEAD"), SHOWN, "calls there have been, and words of them", CALLS.setting
)
CALL = Door("/calls/call", ("GET", "HEAD"), SHOWN, "one call, every line of it", CALLS.setting)
CALL_PEAKS = Door("/calls/peaks", ("GET", "HEAD"), SHOWN, "how loud a recording is", CALLS.setting)
CALL_SOUND = Door("/calls/sound", ("GET", "HEAD"), SHOWN, "a recording", CALLS.setting)
CALL_EXPORT = Door(
    "/calls/export", ("GET", "HEAD"), SHOWN, "a call as labels, JSON or vCon", CALLS.setting
)
DAY = Door("/calls/day", ("GET", "HEAD"), SHOWN, "figures by hour", CALLS.setting)
CALL_ACT = Door(
    "/calls/act", ("POST",), ("owner", "acts"),
    "a call in progress is hung up, or put through to whom its agent may", pages=False,
)  # fmt: skip
WHO = Door("/calls/session", ("GET", "HEAD"), ("everybody",), "one's own name and what one may")
LOG_IN = Door(
    "/calls/session", ("POST",), ("owner", "password"), "a session, for hours", pages=False
)
LOG_OUT = Door("/calls/session", ("DELETE",), ("everybody",), "one's session ends", pages=False)
WIDGET = Door(
    "/widget.js",
    ("GET", "HEAD"),
    ("everybody",),
    "the widget and its client, whole",
)
HEALTH = Door(
    "/healthz",
    ("GET", "HEAD"),
    ("everybody",),
    "that the process lives and is well; figures to the owner",
)
READY = Door(
    "/readyz", ("GET", "HEAD"), ("everybody",), "whether a call would be taken, and why not"
)
METRICS = Door(
    "/metrics", ("GET", "HEAD"), ("owner", "scraper"),
    "counts and times of all calls, with nobody's number or words", pages=False,
)  # fmt: skip
SIP_CALLS = Door("/sip/calls", ("POST",), ("owner", "sip_key"), "a call is placed", pages=False)
TOKENS = Door("/webrtc/tokens", ("POST",), ("owner", "site_key"), "a token for one visitor's call")
OFFER = Door(
    "/webrtc/{agent}", ("POST",), ("owner", "pass", "setting"),
    "a call with an agent", "webrtc.public = true, to pages of webrtc.origins, within limits",
)  # fmt: skip
ICE = Door(
    "/webrtc/{agent}/ice", ("GET", "HEAD"), ("owner", "pass", "setting"),
    "STUN and TURN servers, with a password of its own", OFFER.setting,
)  # fmt: skip
SESSION = Door(
    "/webrtc/{agent}/{session}", ("PATCH", "DELETE", "GET", "HEAD"), ("address",),
    "one's own call is changed or ended",
)  # fmt: skip
VOICE = Door(
    "/twilio/voice", ("POST", "GET"), ("signature", "owner", "setting"),
    "a ticket for one call's stream", "twilio.require_signature = false",
)  # fmt: skip
STATUS_REPORT = Door(
    "/twilio/status", ("POST",), ("signature", "owner", "setting"),
    "a line in the log", VOICE.setting,
)  # fmt: skip
STREAM = Door(
    "/twilio/stream", ("WEBSOCKET",), ("signature", "owner", "setting"),
    "a call with an agent, where the ticket is shown too (the owner needs none); of several "
    "processes each has a path of its own below it", VOICE.setting,
)  # fmt: skip

DOORS = (
    PAGE, PAGE_FILES, ICON, STATUS, CALLS, CALL_PAGE, CALL_LIST, CALL, CALL_PEAKS, CALL_SOUND,
    CALL_EXPORT, DAY, CALL_ACT, WHO, LOG_IN, LOG_OUT, WIDGET, HEALTH, READY, METRICS,
    SIP_CALLS, TOKENS,
    OFFER, ICE, SESSION, VOICE, STATUS_REPORT, STREAM,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Port:
    """One way in that is no HTTP."""

    name: str
    asks: str
    opens: str


NAMED = (
    "whom `sip.trunks.*.networks` or `sip.allow` name; who proves to be one of `sip.users`; where "
    "nobody is named, private addresses; everybody with `sip.open = true`"
)

PORTS = (
    Port("SIP, all of it", "any message", "those below; from others not a byte is parsed"),
    Port("SIP", "INVITE", NAMED),
    Port("SIP", "INVITE with Replaces", "the same, who knows the call's identifiers"),
    Port(
        "SIP", "REFER in a call", "`sip.accept_refer`, to whom `sip.dial` allows, so many an hour"
    ),
    Port(
        "SIP",
        "ACK, BYE, CANCEL, INFO, PRACK, UPDATE, re-INVITE",
        "who knows the call's identifiers",
    ),
    Port(
        "SIP",
        "OPTIONS",
        "whoever is heard; it says what is spoken here, or that calls go elsewhere",
    ),
    Port("SIP", "REGISTER, SUBSCRIBE, NOTIFY, MESSAGE, PUBLISH", "nobody"),
    Port(
        "RTP", "sound and keys", "who has the SRTP key, the described address, its host; see sip.md"
    ),
    Port("WebRTC media", "ICE, DTLS, SRTP", "who has the offer's certificate and ICE password"),
)
