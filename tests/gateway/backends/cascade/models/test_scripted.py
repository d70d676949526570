"""The scripted model: a function of the history that streams like a large model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.agents.library import AgentLibrary, shipped
from gateway.backends.cascade.models.scripted import CALLS, Pace, ScriptedModel, tokens
from gateway.backends.cascade.ports import (
    Expectation,
    ModelEvent,
    ModelRequest,
    ModelUsage,
    TextDelta,
    ToolDelta,
)
from gateway.events import Entry, Json
from gateway.plumbing.virtual_time import run

(SCRIPT,) = AgentLibrary(shipped()).get("workshop").scripts.values()


def ask(model: ScriptedModel, *history: Entry, call: str = "c") -> list[tuple[float, ModelEvent]]:
    async def collect() -> list[tuple[float, ModelEvent]]:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        request = ModelRequest(call, "", history)
        return [(loop.time() - begun, event) async for event in model.stream(request)]

    return run(collect())


def caller(text: str) -> Entry:
    return Entry("caller", text)


def test_it_streams_what_it_expects_then_text_then_what_it_counted() -> None:
    events = [event for _, event in ask(ScriptedModel(SCRIPT), caller("My brakes squeak."))]
    assert events[0] == Expectation("name", "")
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert text == "I'm sorry about the brakes. What's your last name, so I can look you up?"
    assert isinstance(events[-1], ModelUsage)


def test_tools_are_asked_for_after_the_text() -> None:
    said = ["My brakes squeak.", "Miller", "M I L L E R", "A 2020 Honda Civic", "No."]
    history: list[Entry] = []
    model = ScriptedModel(SCRIPT)
    for text in said:
        history.append(caller(text))
        events = [event for _, event in ask(model, *history)]
        answer = "".join(event.text for event in events if isinstance(event, TextDelta))
        history.append(Entry("agent", answer))
    assert events[-2] == ToolDelta("find_times-1", "find_times", {})
    assert isinstance(events[-3], TextDelta)


def test_the_pace_is_that_of_a_large_model() -> None:
    model = ScriptedModel(SCRIPT, Pace(first_token=1.5, tokens_per_second=30.0))
    events = ask(model, caller("My brakes squeak."))
    times = [at for at, event in events if isinstance(event, TextDelta)]
    assert times[0] == pytest.approx(1.5)
    assert [b - a for a, b in pairwise(times)] == pytest.approx([1 / 30] * (len(times) - 1))


async def test_closing_the_stream_stops_it() -> None:
    stream = ScriptedModel(SCRIPT, Pace(0.1, 1.0)).stream(ModelRequest("c", "", ()))
    assert isinstance(stream, AsyncGenerator)
    event = await anext(stream)
    await stream.aclose()
    got = event
    assert got is not None


@given(st.text(max_size=80))
def test_tokens_join_to_the_text(text: str) -> None:
    assert "".join(tokens(text)) == text
    assert all(tokens(text))


VARIABLES: Json = {"customer": "Jack", "caller": "+1555"}


def test_what_a_note_tells_of_the_call_is_known() -> None:
    note = Entry("note", "About this call.", name="call", data=VARIABLES)
    state = ScriptedModel(SCRIPT).state(ModelRequest("c", "", (note, caller("My brakes squeak."))))
    assert state.plan.question.startswith("What car is it")
    by_request = ModelRequest("c", "", (caller("My brakes squeak."),), variables=VARIABLES)
    assert ScriptedModel(SCRIPT).state(by_request).plan == state.plan


def test_it_keeps_no_more_calls_than_it_may() -> None:
    model = ScriptedModel(SCRIPT)
    for n in range(CALLS + 20):
        model.state(ModelRequest(f"call-{n}", "", (caller("Hi"),)))
    assert len(model._known) == CALLS


# --- whatever is said -----------------------------------------------------------------------------

PIECES = st.sampled_from(
    """
    my brakes squeak
    yes
    no
    um
    maybe
    Thursday
    at nine
    eight to ten
    M I L L E R
    my name is Jack
    A 2018 Tesla Model S
    bye
    thank you
    what
    hold on
    never mind
    are you open on Sunday
    leave a message
    five five five one two one two
    two days from now
    in the morning
    nothing
    the
    because
    flurb
    actually
    but make it ten
    I want to talk to a person
    walk in
    okay
    """.strip().split("\n    ")
)
UTTERANCE = st.lists(PIECES, max_size=4).map(" ".join)
RESULTS: dict[str, Json] = {
    "opening_hours": {"say": "We're open."},
    "find_times": {
        "date": "2025-12-04",
        "time": "08:00",
        "day_say": "Thursday",
        "say": "Thursday at 8 a.m.",
        "note": "",
    },
    "book": {"status": "booked", "say": "Thursday at 8 a.m.", "day_say": "Thursday"},
    "take_message": {"status": "noted"},
    "hang_up": {"status": "ok"},
}
ODD: tuple[Json, ...] = (
    {"error": "timeout"},
    {"error": "needs_yes"},
    {"error": "cancelled"},
    {"error": "taken", "message": "Taken."},
    {"status": "running"},
    {},
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_it_always_has_an_answer_and_the_same_one(data: st.DataObject) -> None:
    """Any words, cut-ins and tool results: never silent, never stuck, always reproducible."""
    model = ScriptedModel(SCRIPT)
    history: list[Entry] = []
    for _ in range(data.draw(st.integers(1, 8))):
        history.append(caller(data.draw(UTTERANCE)))
        for _round in range(12):
            plan = model.state(ModelRequest("c", "", tuple(history))).plan
            fresh = ScriptedModel(SCRIPT).state(ModelRequest("x", "", tuple(history))).plan
            assert plan == fresh, "what was kept of the call changes nothing"
            if plan.text and data.draw(st.integers(0, 3)):
                said = plan.text.split()
                kept = data.draw(st.integers(0, len(said)))
                if kept:
                    cut = kept < len(said)
                    history.append(Entry("agent", " ".join(said[:kept]), interrupted=cut))
            if not plan.calls:
                break
            (call,) = plan.calls
            history.append(Entry("tool_ask", ask=call.ask, name=call.name, data=call.arguments))
            usual = data.draw(st.integers(0, 3))
            result = RESULTS[call.name] if usual else data.draw(st.sampled_from(ODD))
            history.append(Entry("tool_result", ask=call.ask, name=call.name, data=result))
            if result.get("error") == "cancelled" or call.name == "hang_up":
                break  # the caller had gone on; or the call is over
        else:
            raise AssertionError(f"it goes on asking for tools: {history}")
        ended = history[-1].name == "hang_up" or history[-1].data.get("error") == "cancelled"
        assert plan.text or plan.calls or ended, f"silent after {history}"
