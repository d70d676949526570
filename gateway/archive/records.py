"""A call as the list of calls knows it, made from the lines of the log as they are read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import msgspec

from gateway.log_events import (
    AgentSpokeLogged,
    CallEndedLogged,
    CallerSpokeLogged,
    CallStartedLogged,
    DraftLogged,
    FaultLogged,
    InterruptedLogged,
    LogEvent,
    ToolLogged,
    TurnEndedLogged,
    TurnLogged,
)

TOKENS = {
    "tokens_in": ("input_tokens", "prompt_tokens", "promptTokenCount", "totalInputTokens"),
    "tokens_out": (
        "output_tokens",
        "completion_tokens",
        "responseTokenCount",
        "totalOutputTokens",
    ),
    "tokens_cached": ("cached_tokens", "cachedContentTokenCount", "cache_read_input_tokens"),
}
"""What vendors call what they count."""

WORDS_MOST = 60_000
"""Characters of a call that can be searched: an hour of talk."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in the log."""

    file: str
    "by its first line"
    offset: int


@dataclass(slots=True)
class CallRecord:
    """One call."""

    call: str
    begin: Place
    end: Place
    began: str = ""
    "RFC 3339"
    started: CallStartedLogged | None = None
    ended: CallEndedLogged | None = None
    seconds: float = 0.0
    figures: Counter[str] = field(default_factory=Counter)
    "turns, cut-ins, faults, tools, drafts and tokens"
    measured: dict[str, list[float]] = field(default_factory=dict)
    "seconds: response, its stages, and how soon the agent stopped"
    words: list[str] = field(default_factory=list)
    characters: int = 0

    def take(self, ts: str, at: float, event: LogEvent) -> None:
        """Take one line."""
        self.seconds = max(self.seconds, at)
        match event:
            case CallStartedLogged():
                self.began, self.started = ts, event
            case CallerSpokeLogged(text=text) | AgentSpokeLogged(text=text):
                self._said(text)
            case TurnEndedLogged(turn=turn):
                self.figures["turns"] = max(self.figures["turns"], turn)
            case TurnLogged():
                self._timed(event)
            case InterruptedLogged(heard_text=text, stop_delay=delay):
                self._said(text)
                if delay is not None:
                    self.figures["cut_ins"] += 1
                    self._measure("stop_delay", delay)
            case ToolLogged(outcome="asked"):
                self.figures["tools"] += 1
            case DraftLogged(outcome=outcome):
                self.figures[f"drafts_{outcome}"] += 1
            case FaultLogged(part=part):
                self.figures["faults"] += 1
                self.figures[f"fault:{part}"] += 1
            case CallEndedLogged():
                self.ended, self.seconds = event, event.seconds
            case _:
                pass

    def spent(self, figures: dict[str, Any]) -> None:
        """Take what a model counted."""
        for name, keys in TOKENS.items():
            found = next((figures[key] for key in keys if key in figures), None)
            if isinstance(found, int | float):
                self.figures[name] += int(found)

    @property
    def over(self) -> bool:
        """Return whether its end was read."""
        return self.ended is not None

    @property
    def response_median(self) -> float | None:
        """What its caller waited for an answer."""
        waited = self.measured.get("response")
        return round(median(waited), 4) if waited else None

    @property
    def response_max(self) -> float | None:
        """The longest of these waits."""
        return max(self.measured.get("response", ()), default=None)

    def _said(self, text: str) -> None:
        if text and self.characters < WORDS_MOST:
            self.words.append(text)
            self.characters += len(text)

    def _timed(self, turn: TurnLogged) -> None:
        self._measure("response", turn.response)
        for name, seconds in msgspec.structs.asdict(turn.stages).items():
            self._measure(name, seconds)

    def _measure(self, name: str, seconds: float) -> None:
        self.measured.setdefault(name, []).append(seconds)
