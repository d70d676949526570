"""Counts what the call log tells; fed every line on the log's own thread, never in a frame's path.

Whatever a line holds that may be personal is left where it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gateway.log_events import (
    BackchannelLogged,
    BackendLogged,
    CallEndedLogged,
    CallFailedLogged,
    CallRefusedLogged,
    CallStartedLogged,
    DraftLogged,
    FaultLogged,
    HeldLogged,
    InterruptedLogged,
    LogDroppedLogged,
    LogEvent,
    LogLostLogged,
    LoopStoodLogged,
    ResumedLogged,
    ToolLogged,
    TransferLogged,
    TransferRefusedLogged,
    TurnEndedLogged,
    TurnLogged,
    UsageLogged,
)
from gateway.metrics import families as f
from gateway.metrics.series import Registry
from gateway.metrics.tokens import tokens

BEGUN = frozenset({"asked", "proposed", "agreed", "again"})
"""What is told of a tool before anything came of it."""

DRAINED = "drained"
LOST = "process lost"


MODELS = ("session", "recogniser", "model", "voice", "voice_activity", "turn_detector")

ZEROS: tuple[tuple[f.Family, tuple[str, ...]], ...] = (
    (f.FAULTS, (*MODELS, "tool", "line", "recording", "log", "gateway")),
    (f.FALLBACKS, ("none",)),
    (f.STOOD, ("blocked", "interpreter", "stopped")),
)
"""What alarms wait for the first of."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a call in progress."""

    line: str
    agent: str


UNKNOWN = _Known("", "")


class Counting:
    """Takes every line as it is logged."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._calls: dict[str, _Known] = {}
        # A counter that is first seen at 3 has not risen, for Prometheus: these are seen at 0.
        for family, values in ZEROS:
            for value in values:
                registry.series(family).add((value,), 0.0)

    def take(self, call: str, wall: float, at: float, event: LogEvent) -> None:
        """Count one line."""
        with self._registry.lock:
            self._take(call, event)

    def close(self) -> None:
        """Keep what was counted: whoever scrapes may still ask."""

    def _take(self, call: str, event: LogEvent) -> None:
        known = self._calls.get(call, UNKNOWN)
        match event:
            case CallStartedLogged(line=line, agent=agent, direction=direction):
                self._calls[call] = _Known(line, agent)
                self._add(f.STARTED, line, direction, agent)
            case CallEndedLogged():
                self._ended(self._calls.pop(call, UNKNOWN), event)
            case CallRefusedLogged(line=line, cause=cause, count=count):
                self._registry.series(f.REFUSED).add((line, cause), count or 1)
            case CallFailedLogged(line=line, outcome=outcome):
                self._add(f.FAILED, line, outcome)
            case TurnEndedLogged():
                self._turn_ended(known, event)
            case TurnLogged():
                self._answered(known, event)
            case InterruptedLogged():
                self._interrupted(known, event)
            case ToolLogged() if event.outcome not in BEGUN:
                self._add(f.TOOLS, event.name, event.outcome)
                if event.seconds is not None:
                    self._observe(f.TOOL_SECONDS, event.seconds, event.name)
            case UsageLogged(figures=figures):
                for kind, counted in tokens(figures).items():
                    self._registry.series(f.TOKENS).add((known.agent, kind), counted)
            case _:
                self._rest(event)

    def _rest(self, event: LogEvent) -> None:
        """Count what is told with its own words alone."""
        match event:
            case BackchannelLogged():
                self._add(f.WENT_ON, "backchannel")
            case ResumedLogged(kind=kind):
                self._add(f.WENT_ON, kind)
            case DraftLogged(outcome=outcome):
                self._add(f.DRAFTS, outcome)
            case HeldLogged(why=why):
                self._add(f.HOLDS, why)
            case FaultLogged(part=part):
                self._add(f.FAULTS, part)
            case BackendLogged(state="lost", next=following):
                self._add(f.FALLBACKS, following or "none")
            case TransferLogged(accepted=accepted):
                self._add(f.TRANSFERS, "accepted" if accepted else "refused")
            case TransferRefusedLogged():
                self._add(f.TRANSFERS, "not_allowed")
            case LoopStoodLogged(kind=kind, seconds=seconds):
                self._add(f.STOOD, kind)
                self._registry.series(f.STOOD_SECONDS).add((kind,), seconds)
            case LogDroppedLogged(lines=lines):
                self._registry.series(f.LOG_DROPPED).add((), lines)
            case LogLostLogged(lines=lines):
                self._registry.series(f.LOG_LOST).add((), lines)
            case _:
                pass

    def _turn_ended(self, known: _Known, event: TurnEndedLogged) -> None:
        self._add(f.TURNS, known.agent, event.why)
        if event.late:
            self._add(f.DETECTOR_LATE)
        if event.detector_seconds:
            self._observe(f.DETECTOR, event.detector_seconds)
            self._observe(f.DETECTOR_QUEUE, event.detector_queue or 0.0)

    def _answered(self, known: _Known, event: TurnLogged) -> None:
        self._observe(f.RESPONSES, event.response, known.line, known.agent)
        stages = event.stages
        for stage, seconds in (
            ("end_of_turn", stages.end_of_turn),
            ("transcript", stages.transcript),
            ("first_token", stages.first_token),
            ("first_audio", stages.first_audio),
            ("line", stages.line),
        ):
            self._observe(f.STAGES, seconds, stage)

    def _interrupted(self, known: _Known, event: InterruptedLogged) -> None:
        # What decided may be told with what was said: `words: hold on, 0.82 s`.
        self._add(f.INTERRUPTIONS, event.evidence.partition(":")[0].strip() or "none")
        self._observe(f.HEARD_ERROR, event.error, event.basis)
        if event.stop_delay is not None:
            self._observe(f.STOPS, event.stop_delay, known.line)

    def _ended(self, known: _Known, event: CallEndedLogged) -> None:
        if event.reason == LOST:
            self._add(f.LOST)
        elif event.reason == DRAINED:
            self._add(f.CUT)
        if known is UNKNOWN:
            return
        self._add(f.ENDED, known.line, known.agent, event.ended_by)
        self._observe(f.CALL_SECONDS, event.seconds, known.line)
        if event.quality:
            self._quality(known.line, event.quality)

    def _quality(self, line: str, figures: Mapping[str, Any]) -> None:
        found = {name: float(v) for name, v in figures.items() if isinstance(v, int | float)}
        for family, name in (
            (f.JITTERS, "jitter"),
            (f.FAR_LOSS, "far_loss"),
            (f.ROUND_TRIPS, "round_trip"),
            (f.OPINION, "mos"),
        ):
            if name in found:
                self._observe(family, found[name], line)
        for state in ("received", "lost", "late"):
            self._registry.series(f.PACKETS).add((line, state), found.get(state, 0.0))
        self._registry.series(f.CONCEALED).add((line,), found.get("concealed", 0.0))
        expected = found.get("received", 0.0) + found.get("lost", 0.0)
        if expected:
            missing = found.get("lost", 0.0) + found.get("late", 0.0)
            self._observe(f.LOSS, missing / expected, line)

    def _add(self, family: f.Family, *labels: str) -> None:
        self._registry.series(family).add(labels)

    def _observe(self, family: f.Family, value: float, *labels: str) -> None:
        self._registry.histogram(family).observe(labels, value)
