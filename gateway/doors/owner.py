"""The token of this machine's owner: in a file that nobody else reads, as Jupyter has one.

Who can read the file of the user that the gateway runs as may do what that user may; a request
that only seems to come from this machine may not.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from gateway.plumbing.locality import names_this_machine
from media import private

VARIABLE = "PARLEY_OWNER_TOKEN"
"""Holds the token where there is no home to keep a file in, as in a container."""

SHORTEST = 24
"""Characters; one that is drawn here has 43."""

LONGEST = 512


@dataclass(frozen=True, slots=True)
class Owner:
    """What proves to be this machine's owner, and where it is kept."""

    token: str = field(repr=False)
    place: str
    "the file or the variable; empty: it is kept nowhere"
    problem: str = ""
    "why it is kept nowhere"

    def link(self, address: str) -> str:
        """Return the address that opens the gateway's page for the owner.

        The token stands behind the `#`: browsers send that to nobody, so that no proxy logs it.
        """
        return f"{address}/#owner={self.token}"


def file_place() -> Path:
    """Return where the token of this user's gateways lies (XDG Base Directory Specification)."""
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if Path(state).is_absolute() else Path.home() / ".local/state"
    return folder / "parley/owner"


def known_owner() -> Owner | None:
    """Read the token, where there is one that this user may read; raises ValueError."""
    if given := os.environ.get(VARIABLE, ""):
        return Owner(_checked(given, VARIABLE), VARIABLE)
    try:
        path = file_place()
        return Owner(_checked(path.read_text("utf-8", "replace").strip(), str(path)), str(path))
    except (OSError, RuntimeError):  # no such file, not ours, or no home
        return None


def settled_owner() -> Owner:
    """Return the token, drawn and kept where there is none yet; raises ValueError for a bad one."""
    if (known := known_owner()) is not None:
        return known
    token = secrets.token_urlsafe(32)
    try:
        path = file_place()
        private.make_folder(path.parent)
        # Whole under another name first: a second gateway that starts now must not read half.
        fresh = path.with_name(f"owner-{secrets.token_hex(8)}")
        with os.fdopen(private.open_file(fresh, os.O_WRONLY | os.O_EXCL), "w") as file:
            file.write(token + "\n")
        try:
            os.link(fresh, path)
        except FileExistsError:  # another gateway of ours was faster, or the file is not ours
            if (known := known_owner()) is not None:
                return known
            raise
        finally:
            fresh.unlink()
    except (OSError, RuntimeError) as error:
        return Owner(token, "", str(error))
    return Owner(token, str(path))


def proof(url: str) -> dict[str, str]:
    """Return the headers that prove to a gateway on this machine that its owner asks.

    No other machine is ever shown the token.
    """
    if not names_this_machine(urlsplit(url).netloc):
        return {}
    owner = known_owner()
    return {} if owner is None else bearer(owner.token)


def bearer(token: str) -> dict[str, str]:
    """Return the header that shows a token (RFC 6750, section 2.1)."""
    return {"Authorization": f"Bearer {token}"}


def _checked(token: str, place: str) -> str:
    if not SHORTEST <= len(token) <= LONGEST or not token.isascii() or not token.isprintable():
        raise ValueError(
            f"{place} holds no owner's token; it must have {SHORTEST} to {LONGEST} ASCII "
            "characters (remove it, and the next `parley serve` draws one)"
        )
    return token
