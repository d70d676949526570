"""What the page is shown: states and words, as they were heard."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.lines.webrtc.channel import Caption, Message, Proposal, State, Tool
from gateway.lines.webrtc.showing import Showing
from gateway.log_events import LogEvent
from tests.support.log_lines import logged

BEGAN, FELL = True, False
"""The caller hears the agent, and hears it no more."""

Told = LogEvent | bool


def tell(showing: Showing, told: Told) -> list[Message]:
    return showing.sounding(told) if isinstance(told, bool) else showing.observe(told)


def states(*events: Told) -> list[str]:
    """Return the states that are shown, from the first on."""
    showing = Showing()
    messages: list[Message] = list(showing.state())
    for event in events:
        messages += tell(showing, event)
    return [one.state for one in messages if isinstance(one, State)]


def turn(number: int) -> list[Told]:
    return [
        logged("turn_ended", turn=number),
        logged("caller_spoke", turn=number, text="hello"),
        BEGAN,
        logged("turn", turn=number),
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
    ended = logged("turn_ended", turn=1)
    assert states(ended, BEGAN, FELL) == ["listening", "thinking", "speaking", "thinking"]


def test_words_that_come_after_the_answer_change_nothing() -> None:
    """A model that hears by itself may answer before its transcriber has written anything."""
    ended, late = logged("turn_ended", turn=1), logged("caller_spoke", turn=1, text="hello")
    assert states(ended, BEGAN, logged("turn", turn=1), late, FELL) == [
        "listening",
        "thinking",
        "speaking",
        "listening",
    ]


def test_a_sound_without_words_needs_no_answer() -> None:
    wordless = logged("caller_spoke", turn=None, text="", wordless=True)
    assert states(logged("turn_ended", turn=1), wordless) == ["listening", "thinking", "listening"]


def test_who_typed_is_thought_about() -> None:
    assert states(logged("caller_spoke", turn=1, text="hi")) == ["listening", "thinking"]


def test_who_cuts_in_has_the_floor() -> None:
    cut = logged("interrupted", utterance=1, heard_text="Your car", text="Your car is")
    assert states(BEGAN, cut) == ["listening", "speaking", "listening"]


def test_a_broken_connection_is_shown_before_all_else() -> None:
    showing = Showing()
    showing.sounding(BEGAN)
    assert showing.away(True) == [State(state="waiting")]
    assert showing.sounding(FELL) == []
    assert showing.away(False) == [State(state="listening")]


def test_who_opens_the_page_late_is_told_the_state() -> None:
    showing = Showing()
    showing.sounding(BEGAN)
    assert showing.state() == []
    assert showing.again() == [State(state="speaking")]


def test_captions_grow_and_end_with_all_that_was_said() -> None:
    showing = Showing()
    assert showing.caption(1, "Good") == [Caption(who="agent", id=1, text="Good")]
    assert showing.caption(1, "Good") == []
    assert showing.caption(1, "Good morning") == [Caption(who="agent", id=1, text="Good morning")]
    end = showing.observe(logged("agent_spoke", utterance=1, text="Good morning."))
    assert end[0] == Caption(who="agent", id=1, text="Good morning.", final=True)


def test_a_cut_caption_shows_what_was_heard() -> None:
    showing = Showing()
    showing.caption(4, "Your car will")
    cut = logged("interrupted", utterance=4, heard_text="Your car", text="Your car will be ready")
    told = showing.observe(cut)[0]
    assert told == Caption(who="agent", id=4, text="Your car", final=True, interrupted=True)


def test_what_was_never_heard_is_never_shown() -> None:
    showing = Showing()
    unheard = logged("interrupted", utterance=4, heard_text="", text="All")
    assert showing.observe(unheard) == [State(state="listening")]


def test_a_tool_is_told_of_when_its_turn_is_over() -> None:
    showing = Showing()
    asked = logged("tool", name="find", outcome="asked", drafted=False)
    assert showing.observe(asked) == [Tool(name="find", state="began")]
    done = logged("tool", name="find", outcome="done")
    assert showing.observe(done) == [Tool(name="find", state="done")]
    assert showing.observe(logged("tool", name="find", outcome="asked", drafted=True)) == []
    assert showing.observe(logged("tool", name="find", outcome="cancelled")) == []
    showing.observe(asked)
    late = logged("tool", name="find", outcome="timeout")
    assert showing.observe(late) == [Tool(name="find", state="failed")]


words = st.lists(st.sampled_from(["one", "two", "three"]), max_size=6).map(" ".join)


@given(st.lists(st.tuples(st.integers(1, 3), words), max_size=30))
def test_a_caption_never_shrinks_while_it_is_heard(heard: list[tuple[int, str]]) -> None:
    showing, last = Showing(), dict[int, str]()
    for utterance, text in heard:
        for message in showing.caption(utterance, text):
            assert isinstance(message, Caption)
            assert len(message.text) > len(last.get(message.id, ""))
            last[message.id] = message.text


def test_a_proposal_is_shown_until_it_is_answered() -> None:
    showing = Showing()
    showing.observe(logged("tool", name="book", ask="a1", outcome="asked", drafted=False))
    asked = logged("tool", name="book", ask="a1", outcome="proposed", question="Shall I?")
    assert showing.observe(asked) == [Proposal(id="a1", text="Shall I?", state="asked")]
    assert showing.observe(logged("tool", name="book", ask="a1", outcome="again")) == []
    agreed = logged("tool", name="book", ask="a1", outcome="agreed")
    began = Tool(name="book", state="began")
    assert showing.observe(agreed) == [Proposal(id="a1", state="over"), began]
    done = logged("tool", name="book", ask="a1", outcome="done", late=True)
    assert showing.observe(done) == [Tool(name="book", state="done")]
    lapsed = logged("tool", name="book", ask="a2", outcome="lapsed")
    assert showing.observe(lapsed) == [Proposal(id="a2", state="over")]
