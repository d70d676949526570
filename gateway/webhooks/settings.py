"""What the operator decides about events for other systems."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

SHORTEST = 24


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """Events of calls, posted to another system."""

    url: str = ""
    "where they are posted; empty: nowhere"
    events: tuple[str, ...] = (
        "call_started",
        "call_refused",
        "call_failed",
        "transfer",
        "call_ended",
        "call_summary",
    )
    "lines of the call log that are posted"
    mask: Literal["none", "partial", "full"] = "none"
    "what is personal in them, as for the log"
    spool_most: Annotated[int, Meta(ge=1, le=10_000_000)] = 100_000
    "events that may wait on the disk, in `agents.data`; what comes then is dropped and counted"
    keep_hours: Annotated[float, Meta(gt=0, le=720)] = 72.0
    "for how long an event is tried"
    secret: str = field(default="", repr=False, metadata={"env": "PARLEY_WEBHOOK_SECRET"})
    "what events are signed with; at least 24 characters, or `whsec_` and base64"

    def problem(self, known: tuple[str, ...]) -> str:
        """Return what is wrong; `known` are the events there are. Empty: nothing."""
        if not self.url:
            return ""
        if not self.url.startswith(("https://", "http://")):
            return f"webhooks.url: {self.url!r} begins with neither https:// nor http://"
        if len(self.secret) < SHORTEST:
            return (
                f"webhooks.url is set, so PARLEY_WEBHOOK_SECRET must have at least {SHORTEST} "
                "characters: receivers know by it that events are ours"
            )
        if strange := [each for each in self.events if each not in known]:
            there = ", ".join(known)
            return f"webhooks.events: there is no event {strange[0]!r}; there are {there}"
        return ""
