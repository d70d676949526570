"""What a call was like at the far end: the document `parley call --json` prints.

Times are seconds since the call was answered, on the caller's own clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

DIGITS = 3
"""Of printed times: the caller's clock is not truer than a millisecond."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """The agent's first words."""

    first_audio: float | None = None
    "None: it waited for the caller"


@dataclass(frozen=True, slots=True)
class Turn:
    """Something the caller said, and how it was answered."""

    said: str
    speech_end: float
    "the last voiced sample of the recording"
    first_audio: float | None
    "the first audible sample of the reply; None: there was none"
    response: float | None
    "from the one to the other; negative where the agent talked into the caller's last words"
    reply_seconds: float
    speech_start: float = 0.0
    premature: int = 0
    "times the agent began, and stopped again, while the caller was still speaking"


@dataclass(frozen=True, slots=True)
class CutIn:
    """Something the caller said into the agent's speech."""

    onset: float
    "the first voiced sample of the recording"
    stopped: float | None
    "the last audible sample of the agent; None: it was silent already"
    stop_delay: float | None
    resumed: bool
    "the same speech went on after a pause"
    heard_of_reply: float
    "seconds of the reply that were played before it stopped, from its first sample"
    said: str = ""
    speech_end: float = 0.0
    first_audio: float | None = None
    "of what the agent answered to it"
    response: float | None = None


@dataclass(frozen=True, slots=True)
class CallReport:
    """All of one call."""

    call_id: str
    "by which `parley logs --call` finds it in the gateway's log"
    answered: bool
    ended_by: Literal["caller", "agent", "failure"]
    reason: str
    greeting: Greeting = field(default_factory=Greeting)
    turns: tuple[Turn, ...] = ()
    cut_ins: tuple[CutIn, ...] = ()
    audio_after_clear_seconds: float = 0.0
    missing_or_late_frames: int = 0
    "20 ms frames' worth of gaps inside the agent's speech"
    late_p99: float = 0.0
    "99th percentile of how late sound came on its own schedule, seconds"
    seconds: float = 0.0
    "from answer to end"
    caller_late_p99: float = 0.0
    "how late this caller's own clock ticked: the grain of all figures here"
    problems: tuple[str, ...] = ()
    "what the far side did against the line's protocol"

    @property
    def went_well(self) -> bool:
        """Whether the call was answered and ended as one of the two wished."""
        return self.answered and self.ended_by != "failure"

    def document(self) -> dict[str, Any]:
        """Return the report as it is printed."""
        document: dict[str, Any] = _rounded(msgspec.to_builtins(self))
        return document


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return round(value, DIGITS)
        case dict():
            return {name: _rounded(each) for name, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
        case _:
            return value
