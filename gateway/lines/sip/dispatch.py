"""Which process has which SIP call, by Call-ID: learnt from what comes and from what is sent."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable

REMEMBERED = 50_000
"""Calls; the one of which nothing was heard for longest is forgotten first."""

# RFC 3261, sections 7.3.1 and 7.3.3: names in any case, and a short form.
CALL_ID = re.compile(rb"\r?\n(?:call-id|i)[ \t]*:[ \t]*([^\r\n]+)", re.IGNORECASE)
REPLACES = re.compile(rb"\r?\nreplaces[ \t]*:[ \t]*([^;\r\n]+)", re.IGNORECASE)
END_OF_HEAD = re.compile(rb"\r?\n\r?\n")


class Dispatch:
    """Knows whose every call is; chooses for those that are new."""

    def __init__(self, choose: Callable[[], int | None]) -> None:
        """`choose` gives the process that is to have the next call; None: there is none at all."""
        self._choose = choose
        self._calls: OrderedDict[bytes, int] = OrderedDict()

    def to(self, message: bytes) -> int | None:
        """Return the process that a message is for; None: there is none at all."""
        head = _head(message)
        call = _found(CALL_ID, head)
        known = self._calls.get(call)
        if known is not None:
            self._calls.move_to_end(call)
            return known
        # A call that takes another's place belongs where that one is (RFC 3891).
        replaced = self._calls.get(_found(REPLACES, head))
        to = self._choose() if replaced is None else replaced
        if to is not None and call and message.startswith(b"INVITE "):
            self._learn(call, to)
        return to

    def sent(self, number: int, message: bytes) -> None:
        """Take that a process sends a message: the answers are for it."""
        call = _found(CALL_ID, _head(message))
        if call:
            self._learn(call, number)

    def lost(self, number: int) -> None:
        """Take that a process is gone, with all its calls."""
        for call in [call for call, whose in self._calls.items() if whose == number]:
            del self._calls[call]

    def __len__(self) -> int:
        return len(self._calls)

    def _learn(self, call: bytes, number: int) -> None:
        self._calls[call] = number
        self._calls.move_to_end(call)
        if len(self._calls) > REMEMBERED:
            self._calls.popitem(last=False)


def _head(message: bytes) -> bytes:
    end = END_OF_HEAD.search(message)
    return message if end is None else message[: end.start()]


def _found(pattern: re.Pattern[bytes], head: bytes) -> bytes:
    found = pattern.search(head)
    return b"" if found is None else found[1].strip()
