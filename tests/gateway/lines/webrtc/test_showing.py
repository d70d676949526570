"""What the page is shown: states and words, as they were heard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gateway.lines.webrtc.channel import Caption, Message, State, Tool
from gateway.lines.webrtc.showing import Showing

Told = tuple[str, Mapping[str, Any]]


def states(*events: Told) -> list[str]:
    """Give the states that are shown, from the first on."""
    showing = Showing()
    messages: list[Message] = list(showing.state())
    for event, fields in events:
        messages += showing.observe(event, fields)
    return [one.state for one in messages if isinstance(one, State)]


BEGAN: Told = ("agent_began", {"utterance": 1})
FELL: Told = ("agent_fell", {})


def turn(number: int) -> list[Told]:
    return [
        ("turn_ended", {"turn": number}),
        ("caller_spoke", {"turn": number, "text": "hello"}),
        BEGAN,
        ("turn", {"turn": number}),
        FELL,
    ]


def test_a_call_of_two_turns() -> None:
    assert states(BEGAN, FELL, *turn(1), *turn(2)) == [
        "listening",
        "speaking",
        "listening",
        *["thinking", "speaking", "listening"] * 2,
    ]


def test_a_filler_is_speech_and_thinking_goes_on_behind_it() -> None:
    ended: Told = ("turn_ended", {"turn": 1})
    assert states(ended, BEGAN, FELL) == ["listening", "thinking", "speaking", "thinking"]


def test_words_that_come_after_the_answer_change_nothing() -> None:
    """A model that hears by itself may answer before its transcriber has written anything."""
    late: Told = ("caller_spoke", {"turn": 1, "text": "hello"})
    events: list[Told] = [("turn_ended", {"turn": 1}), BEGAN, ("turn", {"turn": 1}), late, FELL]
    assert states(*events) == ["listening", "thinking", "speaking", "listening"]


def test_a_sound_without_words_needs_no_answer() -> None:
    events: list[Told] = [("turn_ended", {"turn": 1}), ("caller_spoke", {"text": ""})]
    assert states(*events) == ["listening", "thinking", "listening"]


def test_who_typed_is_thought_about() -> None:
    assert states(("caller_spoke", {"turn": 1, "text": "hi"})) == ["listening", "thinking"]


def test_who_cuts_in_has_the_floor() -> None:
    cut: Told = ("interrupted", {"utterance": 1, "heard_text": "Your car", "text": "Your car is"})
    assert states(BEGAN, cut) == ["listening", "speaking", "listening"]


def test_a_broken_connection_is_shown_before_all_else() -> None:
    showing = Showing()
    showing.observe(*BEGAN)
    assert showing.away(True) == [State(state="waiting")]
    assert showing.observe(*FELL) == []
    assert showing.away(False) == [State(state="listening")]


def test_who_opens_the_page_late_is_told_the_state() -> None:
    showing = Showing()
    showing.observe(*BEGAN)
    assert showing.state() == []
    assert showing.again() == [State(state="speaking")]


def test_captions_grow_and_end_with_all_that_was_said() -> None:
    showing = Showing()
    assert showing.caption(1, "Good") == [Caption(who="agent", id=1, text="Good")]
    assert showing.caption(1, "Good") == []
    assert showing.caption(1, "Good morning") == [Caption(who="agent", id=1, text="Good morning")]
    end = showing.observe("agent_spoke", {"utterance": 1, "text": "Good morning."})
    assert end[0] == Caption(who="agent", id=1, text="Good morning.", final=True)


def test_a_cut_caption_shows_what_was_heard() -> None:
    showing = Showing()
    showing.caption(4, "Your car will")
    fields = {"utterance": 4, "heard_text": "Your car", "text": "Your car will be ready"}
    told = showing.observe("interrupted", fields)[0]
    assert told == Caption(who="agent", id=4, text="Your car", final=True, interrupted=True)


def test_what_was_never_heard_is_never_shown() -> None:
    showing = Showing()
    assert showing.observe("interrupted", {"utterance": 4, "heard_text": "", "text": "All"}) == [
        State(state="listening")
    ]


def test_a_tool_is_told_of_when_its_turn_is_over() -> None:
    showing = Showing()
    asked = {"name": "find", "outcome": "asked", "drafted": False}
    assert showing.observe("tool", asked) == [Tool(name="find", state="began")]
    assert showing.observe("tool", {"name": "find", "outcome": "done"}) == [
        Tool(name="find", state="done")
    ]
    assert showing.observe("tool", {**asked, "drafted": True}) == []
    assert showing.observe("tool", {"name": "find", "outcome": "cancelled"}) == []
    showing.observe("tool", asked)
    assert showing.observe("tool", {"name": "find", "outcome": "timeout"}) == [
        Tool(name="find", state="failed")
    ]


def test_nothing_of_a_tool_but_its_name_is_shown() -> None:
    fields = {"name": "find", "outcome": "asked", "arguments": {"phone": "555"}, "drafted": False}
    assert "555" not in repr(Showing().observe("tool", fields))


words = st.lists(st.sampled_from(["one", "two", "three"]), max_size=6).map(" ".join)


@given(st.lists(st.tuples(st.integers(1, 3), words), max_size=30))
def test_a_caption_never_shrinks_while_it_is_heard(heard: list[tuple[int, str]]) -> None:
    showing, last = Showing(), dict[int, str]()
    for utterance, text in heard:
        for message in showing.caption(utterance, text):
            assert isinstance(message, Caption)
            assert len(message.text) > len(last.get(message.id, ""))
            last[message.id] = message.text
