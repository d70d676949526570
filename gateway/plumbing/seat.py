"""Which of the gateway's processes this is, and names that lead back to it.

A name that is drawn here begins with the number of its process, so that whoever comes with it
later, by whichever connection, is sent there, and nothing needs to be remembered or shared.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from zlib import crc32

NUMBERED = re.compile(r"(\d{1,4})-")


@dataclass(frozen=True, slots=True)
class Seat:
    """One process among `of`."""

    number: int = 0
    of: int = 1
    since: float = 0.0
    """wall clock at which this process took the place of one that was lost, with what that one
    knew; 0: of none"""
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)
    "what all of them sign with where no key is set; drawn when the gateway starts"
    token: Callable[[], str] = lambda: secrets.token_urlsafe(24)

    def draw(self) -> str:
        """Return an unguessable name that leads here."""
        return self.token() if self.of == 1 else f"{self.number}-{self.token()}"

    def draw_anywhere(self) -> str:
        """Return an unguessable name that leads to any of the processes."""
        return self.token() if self.of == 1 else f"{secrets.randbelow(self.of)}-{self.token()}"

    def share(self, whole: int) -> int:
        """Return this process's share of what all of them may do together."""
        return whole // self.of + (self.number < whole % self.of)

    @property
    def first(self) -> bool:
        """Whether this is the process that does what is done once."""
        return self.number == 0


ALONE = Seat()


def leads_to(name: str, of: int) -> int:
    """Return to which of so many processes a name leads; one that none drew, always to one."""
    found = NUMBERED.match(name)
    if found is not None and int(found[1]) < of:
        return int(found[1])
    return crc32(name.encode("utf-8", "surrogatepass")) % of
