"""What a call is called in the log: its own id, and another where that was there before.

One phone call may come to the agent several times: put through to somebody and back, or back after
a restart. Its lines and its recording must not be taken for those of the first time.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path

from gateway.observe.files import all_files

REMEMBERED = 100_000
"""Names that are remembered: a day of a busy process, some megabytes."""

LOOKED_THROUGH = 16_000_000
"""Bytes of the log's end that are looked through at the start, for calls that may come back."""

_STARTED = re.compile(rb'"call":"((?:[^"\\]|\\.)+)","at":[^,]+,"event":"call_started"')

_PART = re.compile(r"\.\d+$")


class CallNames:
    """Gives each call a name that none had before it."""

    def __init__(
        self, known: Iterable[str] = (), told: Callable[[str], None] = lambda name: None
    ) -> None:
        """`told` is told every name that is given."""
        self._told = told
        self._known: OrderedDict[str, None] = OrderedDict()
        for name in known:
            self.know(name)

    def take(self, call_id: str) -> str:
        """Return a call's own id, or with `.2`, `.3`, ... behind it."""
        for name in parts(call_id):
            if name not in self._known:
                self.know(name)
                self._told(name)
                return name
            self._known.move_to_end(name)  # a call that came back may come back again
        raise AssertionError("names do not end")

    def know(self, name: str) -> None:
        """Take that there is a call of this name."""
        self._known[name] = None
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


def parts(call_id: str) -> Iterator[str]:
    """Yield the names under which the parts of one call stand in the log, the first one first."""
    yield call_id
    for number in count(2):
        yield f"{call_id}.{number}"


def whole(name: str) -> str:
    """Return the id of the call of which a name may be a part."""
    return _PART.sub("", name)


def known_calls(path: Path) -> list[str]:
    """Return the names of the calls that a log's end tells the beginning of, the oldest first."""
    ends: list[bytes] = []
    left = LOOKED_THROUGH
    for each in reversed(all_files(path)):
        if left <= 0:
            break
        try:
            with each.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - left))
                ends.append(file.read(left))
        except OSError:  # somebody renames or removes it: what is not there comes back to nothing
            continue
        left -= len(ends[-1])
    found = [name for end in reversed(ends) for name in _STARTED.findall(end)]
    return [name.decode(errors="replace") for name in found]
