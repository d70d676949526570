"""Faults that are planted in an agent, its model or its tools are found by its scenarios."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.agents.library import AgentLibrary, shipped
from gateway.backends.cascade.ports import (
    LanguageModel,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolDelta,
)
from gateway.events import Entry
from gateway.scenarios.format import read
from gateway.scenarios.run import Models, run_file
from gateway.scenarios.scenario import ScenarioFile
from gateway.scenarios.text_call import scripted

AGENT = AgentLibrary(shipped()).get("workshop")
FILE = Path(__file__).parents[3] / "agents/workshop/scenarios.yaml"

Change = Callable[[ModelRequest, list[ModelEvent]], list[ModelEvent]]


@pytest.fixture(scope="module")
def file() -> ScenarioFile:
    return read(FILE)


class Faulty:
    """The agent's model with a fault in what it answers."""

    def __init__(self, change: Change) -> None:
        self._model = scripted(AGENT)
        self._change = change

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        events = [event async for event in self._model.stream(request)]
        for event in self._change(request, events):
            yield event

    def elsewhere(self) -> LanguageModel:
        return self


def text(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def in_place_of_text(events: list[ModelEvent], said: str) -> list[ModelEvent]:
    rest = [event for event in events if not isinstance(event, TextDelta)]
    return [TextDelta(said), *rest] if said else rest


def before(request: ModelRequest) -> str:
    """What the agent said before the caller's last turn."""
    said = ""
    for entry in request.history[:-1]:
        said = entry.text if entry.role == "agent" else said
    return said


def said_twice(request: ModelRequest, events: list[ModelEvent]) -> list[ModelEvent]:
    said = text(events)
    return in_place_of_text(events, f"{said} {said}" if said else "")


def cut_off(request: ModelRequest, events: list[ModelEvent]) -> list[ModelEvent]:
    words = text(events).split()
    return in_place_of_text(events, " ".join(words[: len(words) // 2]))


def unanswered(request: ModelRequest, events: list[ModelEvent]) -> list[ModelEvent]:
    return [] if len(request.history) > 3 else events


def tools(
    events: list[ModelEvent], change: Callable[[ToolDelta], list[ToolDelta]]
) -> list[ModelEvent]:
    out: list[ModelEvent] = []
    for event in events:
        out += change(event) if isinstance(event, ToolDelta) else [event]
    return out


def wrong_arguments(request: ModelRequest, events: list[ModelEvent]) -> list[ModelEvent]:
    def change(one: ToolDelta) -> list[ToolDelta]:
        if one.name != "take_message":
            return [one]
        return [replace(one, arguments={**one.arguments, "number": "0"})]

    return tools(events, change)


def never_uses_tools(request: ModelRequest, events: list[ModelEvent]) -> list[ModelEvent]:
    return tools(events, lambda one: [])


def hangs_up_early(request: ModelRequest, events: list[ModelEvent]) -> list[ModelEvent]:
    callers = sum(entry.role == "caller" for entry in request.history)
    return [*events, ToolDelta("x", "hang_up", {})] if callers == 1 else events


def never_hangs_up(request: ModelRequest, events: list[ModelEvent]) -> list[ModelEvent]:
    return tools(events, lambda one: [] if one.name == "hang_up" else [one])


def loses_first_words(request: ModelRequest, events: list[ModelEvent]) -> list[ModelEvent]:
    return in_place_of_text(events, " ".join(text(events).split()[3:]))


def books_without_being_asked(request: ModelRequest, events: list[ModelEvent]) -> list[ModelEvent]:
    if any(entry.role == "tool" for entry in request.history) or len(request.history) > 2:
        return events
    message = {"text": "nothing", "name": "", "number": ""}
    return [*events, ToolDelta("y", "take_message", message)]


def forgets(request: ModelRequest, events: list[ModelEvent]) -> list[ModelEvent]:
    """Answer as if the call had just begun."""
    first: Entry | None = next((e for e in request.history if e.role == "caller"), None)
    return events if first is None else in_place_of_text(events, "How can I help you today?")


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (said_twice, "said_twice"),
        (cut_off, "text_mismatch"),
        (unanswered, "text_mismatch"),
        (wrong_arguments, "function_args_mismatch"),
        (never_uses_tools, "missing_function_call"),
        (hangs_up_early, "bot_ended"),
        (never_hangs_up, "not_ended"),
        (loses_first_words, "text_mismatch"),
        (books_without_being_asked, "unexpected_event"),
        (forgets, "text_mismatch"),
    ],
)
def test_a_planted_fault_is_found(file: ScenarioFile, fault: Change, kind: str) -> None:
    results = run_file(file, AGENT, Models(lambda: Faulty(fault)))
    assert kind in {failure.kind for each in results for failure in each.failures}


def test_every_scenario_of_the_example_agent_passes_twice_and_alike(file: ScenarioFile) -> None:
    assert len(file.scenarios) >= 25
    first, again = (run_file(file, AGENT, Models(lambda: scripted(AGENT))) for _ in range(2))
    assert [each.failures for each in first] == [()] * len(first)
    assert [each.transcript for each in first] == [each.transcript for each in again]
