"""Who calls whom, as far as the messages say: what the agent and the log are told of a call."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from gateway.events import CallInfo
from gateway.lines.rtp.codecs import Codec
from gateway.lines.sip.message.address import NameAddr, parse_addresses, parse_uri
from gateway.lines.sip.message.message import Request, call_id, clean, from_of, to_of

MAX_VALUE = 512
"""Characters of one header that are handed on."""
MAX_HEADERS = 32
_TOLD = ("p-asserted-identity", "diversion", "history-info", "reason", "user-agent", "subject")


def number_of(uri: str) -> str:
    """Return the number or name a URI calls, `+` and digits without visual separators."""
    try:
        parsed = parse_uri(uri)
    except ValueError:
        return ""
    # RFC 3261, section 19.1.6: parameters of a telephone number may sit in the user part.
    user = (parsed.user or "").partition(";")[0]
    plain = "".join(char for char in user if char not in "-.()")
    return plain if plain.lstrip("+").isdigit() else clean(user)


def called_number(request: Request, own: Collection[str] = ()) -> str:
    """Return whom a call is for: the Request-URI's user, else To's.

    A registrar puts our own Contact into the Request-URI: where its user is one of `own`, the
    number stands in P-Called-Party-ID (RFC 7315, section 4.2) or in To.
    """
    user = number_of(request.uri)
    if user and user not in own:
        return user
    asserted = _first(request.headers.getlist("P-Called-Party-ID"))
    told = number_of(asserted.uri) if asserted is not None else ""
    return told or number_of(to_of(request).uri) or user


def caller_of(request: Request, trusted: bool) -> str:
    """Return who calls: what a trusted network asserts, else what From says (RFC 3325)."""
    if trusted:
        for name in ("P-Asserted-Identity", "Remote-Party-ID"):
            found = _first(request.headers.getlist(name))
            if found is not None and number_of(found.uri):
                return number_of(found.uri)
    said = from_of(request)
    return number_of(said.uri) or clean(said.uri)


def _first(values: list[str]) -> NameAddr | None:
    try:
        return next(iter(parse_addresses(values)), None)
    except ValueError:
        return None


def variables(request: Request, **more: str) -> dict[str, str]:
    """Return the headers an agent may want: identity, diversion, and everything of one's own."""
    found: dict[str, str] = {}
    for name in request.headers.names():
        lower = name.lower()
        if lower in _TOLD or lower.startswith("x-"):
            values = ", ".join(request.headers.getlist(name))
            found[lower] = clean(values)[:MAX_VALUE]
        if len(found) >= MAX_HEADERS:
            break
    display = from_of(request).name
    if display:
        found["display_name"] = clean(display)[:MAX_VALUE]
    found["sip_call_id"] = clean(call_id(request))[:MAX_VALUE]
    return found | {name: value for name, value in more.items() if value}


def call_info(
    identity: str,
    request: Request,
    agent: str,
    codec: Codec,
    *,
    trunk: str = "",
    user: str = "",
    own: Collection[str] = (),
    direction: Literal["inbound", "outbound"] = "inbound",
) -> CallInfo:
    """Describe an inbound call; `own` as `called_number` has it."""
    return CallInfo(
        call_id=identity,
        line="sip",
        agent=agent,
        # Who proved who they are is that, whatever From says.
        caller=user or caller_of(request, bool(trunk)),
        callee=called_number(request, own),
        rate=codec.rate,
        codec=codec.name if codec.name in ("pcmu", "pcma") else "l16",
        negotiated=codec.name,
        direction=direction,
        variables=variables(request, trunk=trunk, user=user),
    )
