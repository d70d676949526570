"""Whom calls may be placed to and handed on to: what a list allows, and nothing that resembles it.

A number is digits with an optional `+`; in a pattern `*` stands for any digits and `?` for one.
An address is `sip:USER@HOST`, where wildcards stand in the user alone, and the host is `*` or the
very one: `sip:1*@pbx.example.com` lets nobody call `sip:1@evil.example;x=@pbx.example.com`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

SEPARATORS = str.maketrans("", "", " -.()/")
"""What people write between digits (RFC 3966, section 5.1.1), which says nothing."""

NUMBER = re.compile(r"\+?[0-9*#]{1,32}")
NAME = re.compile(r"[A-Za-z0-9+*#._-]{1,64}")
ADDRESS = re.compile(
    r"(?P<scheme>sips?):(?:(?P<user>[A-Za-z0-9+*#._~!?-]{1,64})@)?"
    r"(?P<host>[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]|\*)(?P<port>:[0-9]{1,5})?"
    # Of the parameters these two alone: `maddr` would send the call to another host.
    r"(?:;(?:transport=(?:udp|tcp|tls)|user=phone))*",
    re.IGNORECASE,
)
EVERYTHING = "*"


def plain(target: str) -> str:
    """Return a callee as it is dialled; raises ValueError for what is none."""
    target = target.strip()
    if target[:4].lower() == "tel:":
        target = target[4:]
    number = target.translate(SEPARATORS)
    if NUMBER.fullmatch(number):
        return number
    found = ADDRESS.fullmatch(target)
    if NAME.fullmatch(target) or (found is not None and not set("*?") & set(found["host"])):
        return target
    raise ValueError(f"{target!r} is neither a number nor sip:USER@HOST")


def check_pattern(pattern: str) -> None:
    """Raise ValueError for a pattern that means nothing."""
    number = re.fullmatch(r"\+?[0-9*?]{1,32}|[A-Za-z0-9._-]{1,64}", pattern)
    address = ADDRESS.fullmatch(pattern)
    if pattern != EVERYTHING and not number and (address is None or not address["user"]):
        raise ValueError(
            f"{pattern!r} is no pattern; it is a number as in '+4930*' or '1??', "
            "an address as in 'sip:1*@pbx.example.com', or '*' for everything"
        )


def allowed(target: str, patterns: Iterable[str]) -> bool:
    """Return whether one of the patterns allows a callee, as `plain` gives it."""
    return any(_matches(target, pattern) for pattern in patterns)


def _matches(target: str, pattern: str) -> bool:
    if pattern == EVERYTHING:
        return True
    asked, wanted = ADDRESS.fullmatch(target), ADDRESS.fullmatch(pattern)
    if wanted is None:
        return asked is None and bool(re.fullmatch(_wild(pattern, "[0-9]"), target))
    if asked is None:
        return False
    return (
        # RFC 3261, section 19.1.4: hosts are compared without case, users with it.
        (wanted["host"] == "*" or asked["host"].lower() == wanted["host"].lower())
        and (wanted["host"] == "*" or asked["port"] == wanted["port"])
        and asked["scheme"].lower() in (wanted["scheme"].lower(), "sips")
        and bool(re.fullmatch(_wild(wanted["user"], r"[A-Za-z0-9+._~!-]"), asked["user"] or ""))
    )


def _wild(pattern: str, one: str) -> str:
    return "".join({"*": f"{one}*", "?": one}.get(char) or re.escape(char) for char in pattern)
