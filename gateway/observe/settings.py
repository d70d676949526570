"""What the operator decides about the call log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta


@dataclass(frozen=True, slots=True)
class LogSettings:
    """The call log, and what of it may be read."""

    path: str = "logs/calls.jsonl"
    "`-` is standard output"
    mask: Literal["none", "partial", "full"] = "none"
    "personal data: written; digits and addresses hidden; hidden altogether"
    level: Literal["debug", "info", "warning", "error"] = "info"
    "of the messages on standard error; the call log is always whole"
    rotate_mb: Annotated[float, Meta(gt=0)] = 64.0
    "the file is renamed when it is larger; about 100,000 turns"
    keep: Annotated[int, Meta(ge=0, le=1000)] = 8
    "how many renamed files stay"
    group_reads: bool = False
    "new files may be read by their group as well as by their owner, as a log shipper needs"
