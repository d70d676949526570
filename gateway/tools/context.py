"""What a tool is told of the call it runs in, and how it says that it could not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gateway.events import CallInfo
from gateway.ports import Page
from gateway.tools.hours import OpeningHours


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The call a tool runs in; a function that has a parameter of this kind is given it."""

    call: CallInfo
    began: datetime
    "when the call was answered, in the agent's time zone: what `tomorrow` counts from"
    hours: OpeningHours = field(default_factory=OpeningHours)
    variables: Mapping[str, str] = field(default_factory=dict)
    page: Page | None = None
    "the page that the caller is on"
    key: str = ""
    "idempotency key of a write: the same for the same deed in the same call"


class ToolFailed(Exception):
    """A tool could not do what was asked, and says why in words that the model may use."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code = code
        "short, for the model and the log: `taken`, `not_found`"
        self.message = message


class Uncertain(ToolFailed):
    """It is not known whether a write was done."""

    def __init__(self, message: str = "It is not known whether this was done.") -> None:
        super().__init__("uncertain", message)
