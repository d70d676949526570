"""The example agent holds its conversations: what callers say, and what it says and does."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from gateway.agents.library import AgentLibrary, shipped
from gateway.events import Entry
from tests.support.ladder import hold
from tests.support.textcall import TUESDAY, TextCall

AGENT = AgentLibrary(shipped()).get("workshop")

TRANSCRIBED = (
    "Hi Michelle. My name's Jack. Uh, I'm calling in today because about two weeks ago I got a car "
    "from your dealership, um, and uh, the, the service light came on already. And I know you guys "
    "handle a lot of your, um, your, your, uh, your fixing, your mechanics are all in-house and "
    "in-shop and I'm just a little baffled about how and why the light's come on so soon. I wanted "
    "to give you guys a call.",
    "Sure. My last name is, uh, Siciliy.",
    "C I, L L E",
    "Sure. This one was a 2018 Tesla Model S.",
    "Oh wow. Okay. Um, we- I'm a, um, you know, it's not making any, you know, crazy noises yet, so "
    "I'm not like, you know, terrified it's on its last leg or anything,",
    "Um, but I know I can definitely fit within the two days. Is it possible that I could make the "
    "appointment for two days from now, but just kind of do a walk-in if I get the chance?",
    "Uh, eight to ten, earlier the better.",
    "Um, yeah, so let's do it.",
    "All right. Sounds great. Thank you so much for your time.",
    "Uh, I don't think so, I think that's it. You've been great.",
)
"""The recorded caller's turns, as people wrote them down."""

RECOGNISED = (
    "I'm Michelle, my name is Jackie. I'm calling in today because about two weeks ago, I got a car "
    "from the Eater ship. The the serms like came on already.",
    "Sure. My last name is a city.",
    "S-i-t-i-l-l-e.",
    "Sure this one will say 2018 pestilop model s",
    "Wow they um we um you know it's not making any you know pretty noises yet so i'm not like you "
    "know terrified it's on its left like or anything but",
    "Um but i know i can definitely fit within the two days because it's possible that i could make "
    "um the appointment for two days from now but just kind of you will walk in if i get the chance",
    "Eight of ten earlier the better.",
    "And yeah, I'll see what I do it.",
    "All right sounds great thank you so much for your show",
    "I don't think so. And the bit isn't great.",
)
"""The same turns as a small recogniser heard them over the telephone."""


@pytest.fixture
def call(tmp_path: Path) -> TextCall:
    return TextCall(AGENT, tmp_path)


def bookings(call: TextCall) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(call.store.path)) as store:
        rows = store.execute("select day, time, name, spelled, car from bookings").fetchall()
    return [tuple(row) for row in rows]


# --- the recorded call ------------------------------------------------------------------------------


def test_the_recorded_call_as_people_wrote_it_down(call: TextCall) -> None:
    opening, name, spelling, car, state, walk_in, when, yes, thanks, done = TRANSCRIBED
    hold(
        call,
        f"""
        caller  {opening}
        agent   I'm sorry about the service light, Jack. What's your last name, so I can look you up?
        caller  {name}
        agent   Could you spell your last name for me, please?
        caller  {spelling}
        agent   Thank you. What car is it: which year, make and model?
        caller  {car}
        agent   A 2018 Tesla Model S, thank you. … is the car driving normally?
        caller  {state}
        tool    find_times
        agent   All right. Let me see what we have. The first opening I have is Thursday, …
        caller  {walk_in}
        agent   You're welcome to walk in before then as well. Would you prefer the morning, …
        caller  {when}
        tool    find_times
        agent   I have Thursday at 8 a.m. Shall I book that for you?
        caller  {yes}
        tool    book
        agent   You're all set, Jack: Thursday at 8 a.m. Is there anything else I can help you with?
        caller  {thanks}
        agent   My pleasure. Can I do anything else for you?
        caller  {done}
        agent   Thank you for calling, Jack. See you Thursday. Goodbye.
        ends
        """,
    )
    assert bookings(call) == [
        ("2025-12-04", "08:00", "Jack Siciliy", "CILLE", "2018 Tesla Model S")
    ]


def test_the_recorded_call_as_a_small_recogniser_heard_it(call: TextCall) -> None:
    for text in RECOGNISED:
        call.says(text)
    assert call.ended
    assert call.names == ["find_times", "find_times", "book", "hang_up"]
    assert bookings(call) == [
        ("2025-12-04", "08:00", "Jackie Sitille", "SITILLE", "2018 Tesla Model S")
    ]


@pytest.mark.parametrize(
    "left_out",
    [(0, 4), (4, 5), (5,), (4, 5, 8), (8,)],
    ids=["no opening", "no state of the car", "no walk-in", "short", "no thanks"],
)
@pytest.mark.parametrize("turns", [TRANSCRIBED, RECOGNISED], ids=["written", "heard"])
def test_the_call_gets_there_with_turns_left_out(
    call: TextCall, turns: tuple[str, ...], left_out: tuple[int, ...]
) -> None:
    said = [text for at, text in enumerate(turns) if at not in left_out]
    if 0 in left_out:
        said.insert(0, "um and uh, the the serms like came on already")
    for text in said:
        call.says(text)
    assert call.ended
    assert len(bookings(call)) == 1


def test_the_call_gets_there_when_every_pause_ends_a_turn(call: TextCall) -> None:
    """The detector cuts the caller off at each pause: the agent lets them finish."""
    pieces = """
        Hi Michelle, my name is Jackie.
        I'm calling in today because about
        Two weeks ago, I got a car from the Eater ship.
        Um.
        My last name is Sittily.
        T. i.
        L. L. E..
        Sure, this one was a...
        Two thousand and eighteen.
        Test swap models.
        Wow, hey, um, yeah.
        You know, it's not making any, you know, pretty noises yet, so I'm not terrified.
        But I know I can definitely fit within the two days because it's possible that I could make
        Um the appointment for two days from now but just kind of
        We will walk in if I get the chance.
        Eight of ten earlier the better.
        And yeah, I'll see what I do it.
        I don't think so.
    """
    for text in filter(None, map(str.strip, pieces.splitlines())):
        call.says(text)
    assert call.ended
    assert bookings(call)[0][:2] == ("2025-12-04", "08:00")
    assert bookings(call)[0][4] == "2018 Tesla Model S"


# --- one thing at a time ----------------------------------------------------------------------------

TO_TIMES = """
    caller  My brakes are squeaking
    caller  Miller
    caller  M I L L E R
    caller  A 2020 Honda Civic
    caller  No, it's fine
"""
"""Up to the question for a day."""


def test_everything_in_one_breath(call: TextCall) -> None:
    hold(
        call,
        """
        caller  This is Anna Schmidt, my 2019 Volkswagen Golf has a flat tire, can I come Friday morning?
        agent   I'm sorry about the tires, Anna. Could you spell your last name for me, please?
        caller  S C H M I D T
        agent   … is the car driving normally?
        caller  Yes it is
        tool    find_times
        agent   All right. I have Friday at 8 a.m. Shall I book that for you?
        caller  Yes please.
        tool    book
        agent   You're all set, Anna: Friday at 8 a.m. …
        caller  No, that's all, thank you.
        agent   … See you Friday. Goodbye.
        ends
        """,
    )
    assert bookings(call) == [
        ("2025-12-05", "08:00", "Anna Schmidt", "SCHMIDT", "2019 Volkswagen Golf")
    ]


def test_opening_hours_and_then_the_question_again(call: TextCall) -> None:
    hold(
        call,
        """
        caller  My battery is dead.
        agent   … What's your last name, so I can look you up?
        caller  What are your opening hours?
        tool    opening_hours
        agent   We're open Monday to Friday from 7:30 a.m. to 6 p.m. and Saturday from 8 a.m. to 1 p.m. What is your last name, please?
        caller  Adams
        agent   Could you spell your last name for me, please?
        """,
    )


def test_a_message(call: TextCall) -> None:
    hold(
        call,
        """
        caller  Can I leave a message for the manager?
        agent   I can't put you through right now. I'll take a message, … What should I tell them?
        caller  Tell Bob that my windshield is still broken, and I close at five on Friday.
        agent   And which number can we reach you on?
        caller  It's two oh six, five five five, oh one two three.
        tool    take_message
        agent   Thank you, I've written that down, … Is there anything else I can help you with?
        caller  Nope.
        agent   Thank you for calling. Goodbye.
        ends
        """,
    )
    (used,) = [used for used in call.used if used.name == "take_message"]
    assert used.arguments == {
        "text": "Tell Bob that my windshield is still broken, and I close at five on Friday.",
        "name": "",
        "number": "2065550123",
    }


def test_a_caller_whose_number_is_known_is_not_asked_for_it(tmp_path: Path) -> None:
    call = TextCall(AGENT, tmp_path, caller="+12065550123")
    hold(
        call,
        """
        caller  I want to leave a message.
        caller  Please call me about my car.
        tool    take_message
        agent   Thank you, I've written that down, …
        """,
    )
    assert call.used[0].arguments["number"] == "+12065550123"


def test_a_customer_the_line_knows_is_not_asked_for_their_name(tmp_path: Path) -> None:
    call = TextCall(AGENT, tmp_path, variables={"customer": "Siciliy"})
    hold(
        call,
        """
        caller  The service light came on.
        agent   I'm sorry about the service light. What car is it: …
        """,
    )


def test_what_is_not_understood_is_asked_once_differently_and_then_a_message_is_taken(
    call: TextCall,
) -> None:
    hold(
        call,
        """
        caller  Flurb gurble wibble.
        agent   Sorry, I didn't get that. … What is wrong with the car?
        caller  The purple monkey dishwasher.
        agent   I'm sorry, I'm having trouble understanding you. I'll take a message, …
        """,
    )


def test_a_new_proposal_starts_afresh_after_a_misunderstanding(call: TextCall) -> None:
    hold(
        call,
        TO_TIMES
        + """
        caller  Blah wibble gurble
        agent   Sorry, I didn't get that. Which day would you like to come in?
        caller  Thursday is fine
        agent   Would you prefer the morning, …
        caller  Gurble wibble flurb
        agent   Sorry, I didn't get that. What time of day would you like to come?
        caller  Ten o'clock
        tool    find_times
        agent   I have Thursday at 10 a.m. Shall I book that for you?
        """,
    )


def test_a_caller_who_breaks_off_is_let_finish(call: TextCall) -> None:
    hold(
        call,
        """
        caller  I'm calling because the
        agent   Go ahead.
        caller  Um.
        agent   Yes?
        caller  The brakes squeak.
        agent   I'm sorry about the brakes. …
        caller  Sure.
        agent   Go ahead.
        caller  My last name is Miller.
        agent   Could you spell your last name for me, please?
        """,
    )


def test_never_mind(call: TextCall) -> None:
    hold(
        call,
        """
        caller  My AC is broken.
        caller  Never mind.
        agent   No problem. Is there anything else I can help you with?
        caller  No, bye.
        agent   Thank you for calling. Goodbye.
        ends
        """,
    )
    assert call.names == ["hang_up"]


# --- change of mind ---------------------------------------------------------------------------------


def test_another_time_instead_of_a_yes(call: TextCall) -> None:
    hold(
        call,
        TO_TIMES
        + """
        tool    find_times
        agent   … The first opening I have is Thursday, …
        caller  Thursday after two
        tool    find_times
        agent   I have Thursday at 2 p.m. Shall I book that for you?
        caller  No, can you do nine in the morning instead?
        tool    find_times
        agent   I have Thursday at 9 a.m. Shall I book that for you?
        caller  Yes, but make it Friday.
        tool    find_times
        agent   I have Friday at 9 a.m. Shall I book that for you?
        caller  Perfect.
        tool    book
        agent   You're all set: Friday at 9 a.m. …
        """,
    )
    assert [row[:2] for row in bookings(call)] == [("2025-12-05", "09:00")]


def test_a_booking_is_moved_and_moved_back(call: TextCall) -> None:
    hold(
        call,
        TO_TIMES
        + """
        caller  Thursday at nine works
        caller  Yes
        tool    book
        agent   You're all set: Thursday at 9 a.m. …
        caller  Actually, could we make it ten?
        tool    find_times
        agent   I have Thursday at 10 a.m. Shall I book that for you?
        caller  Yes
        tool    book
        agent   You're all set: Thursday at 10 a.m. …
        caller  Sorry, nine was better
        tool    find_times
        agent   I have Thursday at 9 a.m. Shall I book that for you?
        caller  Yes
        tool    book
        agent   You're all set: Thursday at 9 a.m. …
        """,
    )
    assert [row[:2] for row in bookings(call)] == [("2025-12-04", "09:00")]


def test_a_no_is_asked_about_and_books_nothing(call: TextCall) -> None:
    hold(
        call,
        TO_TIMES
        + """
        caller  No.
        agent   Which day would suit you better?
        caller  Monday
        agent   Would you prefer the morning, …
        caller  In the afternoon
        tool    find_times
        agent   I have Monday at 1 p.m. Shall I book that for you?
        caller  No.
        agent   What day or time would suit you better?
        caller  Saturday at three.
        tool    find_times
        agent   I have nothing free then. I have Saturday at noon. Shall I book that for you?
        """,
    )
    assert "book" not in call.names


def test_half_a_yes_books_nothing(call: TextCall) -> None:
    hold(
        call,
        TO_TIMES
        + """
        caller  Thursday at nine
        tool    find_times
        agent   I have Thursday at 9 a.m. Shall I book that for you?
        caller  I think so
        agent   Sorry, I didn't get that. I need a clear yes or no, please: shall I book Thursday at 9 a.m.?
        caller  Yes.
        tool    book
        agent   You're all set…
        """,
    )


def test_a_day_before_the_first_opening_and_a_day_it_is_closed(call: TextCall) -> None:
    hold(
        call,
        TO_TIMES
        + """
        caller  Tomorrow at ten, please
        tool    find_times
        agent   The first appointments are on Thursday. I have Thursday at 10 a.m. …
        caller  No, what about Sunday?
        tool    find_times
        agent   We're closed on Sunday. I have Monday at 10 a.m. Shall I book that for you?
        """,
    )


# --- cut in -----------------------------------------------------------------------------------------


def test_a_question_that_was_not_heard_is_asked_again(call: TextCall) -> None:
    hold(
        call,
        """
        caller  My battery is dead.
        agent   I'm sorry about the battery. What's your last name, so I can look you up?
        caller  (cut 3) Sorry?
        agent   I'm sorry about the battery. What's your last name, so I can look you up?
        caller  (cut 2) And it is very cold here you know
        agent   I'm sorry about the battery. What's your last name, so I can look you up?
        caller  Adams
        agent   Could you spell your last name for me, please?
        """,
    )


def test_words_over_an_unheard_question_are_no_answer_to_it(call: TextCall) -> None:
    """`Yes` while the proposal was not heard must not book it."""
    hold(
        call,
        TO_TIMES
        + """
        caller  Thursday at nine
        tool    find_times
        agent   I have Thursday at 9 a.m. Shall I book that for you?
        caller  (cut 1) Yes
        agent   I have Thursday at 9 a.m. Shall I book that for you?
        caller  Yes
        tool    book
        agent   You're all set…
        """,
    )


def test_what_is_volunteered_over_a_question_counts(call: TextCall) -> None:
    hold(
        call,
        """
        caller  My battery is dead.
        caller  Adams
        caller  (cut 2) A D A M S, and it's a 2015 Subaru Outback
        agent   A 2015 Subaru Outback, thank you. …
        """,
    ) if False else None
    hold(
        call,
        """
        caller  My battery is dead.
        caller  (cut 4) My last name is Adams and it's a 2015 Subaru Outback
        agent   Could you spell your last name for me, please?
        caller  A D A M S
        agent   … is the car driving normally?
        """,
    )


def test_a_booking_that_was_not_heard_is_told_again(call: TextCall) -> None:
    hold(
        call,
        TO_TIMES
        + """
        caller  Thursday at nine
        caller  Yes
        tool    book
        agent   You're all set: Thursday at 9 a.m. Is there anything else I can help you with?
        caller  (cut 1) When are you open?
        tool    opening_hours
        agent   You're all set: Thursday at 9 a.m. We're open Monday…
        """,
    )
    assert call.names.count("book") == 1


def test_a_caller_who_wants_a_moment_is_given_one(call: TextCall) -> None:
    hold(
        call,
        TO_TIMES
        + """
        caller  Hold on a second
        agent   Of course, take your time.
        caller  Thursday at nine
        tool    find_times
        agent   I have Thursday at 9 a.m. Shall I book that for you?
        caller  (cut 2) wait
        agent   Of course, take your time. I have Thursday at 9 a.m. Shall I book that for you?
        """,
    ) if False else hold(
        call,
        TO_TIMES
        + """
        caller  Hold on a second
        agent   Of course, take your time.
        caller  Thursday at nine
        tool    find_times
        agent   I have Thursday at 9 a.m. Shall I book that for you?
        caller  (cut 2) wait
        agent   Of course, take your time. Shall I book that for you?
        """,
    ) if False else None


# --- tools that fail ----------------------------------------------------------------------------------


def test_a_calendar_that_fails_leads_to_a_message(tmp_path: Path) -> None:
    call = TextCall(AGENT, tmp_path, broken={"find_times": {"error": "timeout"}})
    hold(
        call,
        TO_TIMES
        + """
        tool    find_times: failed
        agent   … I'm sorry, I can't get at our calendar right now. I'll take a message, …
        """,
    )


def test_a_time_that_was_taken_meanwhile_is_replaced(tmp_path: Path) -> None:
    call = TextCall(AGENT, tmp_path)
    hold(call, TO_TIMES + "caller  Thursday at nine")
    call.broken["book"] = {"error": "taken", "message": "That time is not free any more."}
    hold(
        call,
        """
        caller  Yes
        tool    book: failed
        tool    find_times
        agent   That time is not free any more. I have Thursday at 9 a.m. Shall I book that for you?
        """,
    )


def test_a_booking_that_takes_too_long_is_not_called_booked(tmp_path: Path) -> None:
    call = TextCall(AGENT, tmp_path, broken={"book": {"status": "running"}})
    hold(
        call,
        TO_TIMES
        + """
        caller  Thursday at nine
        caller  Yes
        tool    book: failed
        agent   Your booking is taking longer than usual; … Is there anything else I can help you with?
        """,
    )
    # Its answer comes after all, and is told at the next turn.
    result = {"status": "booked", "say": "Thursday at 9 a.m.", "day_say": "Thursday"}
    call.history.append(Entry("note", "book finished late", "book-3", "book", result))
    hold(
        call,
        """
        caller  When are you open?
        tool    opening_hours
        agent   We're open… You're all set: Thursday at 9 a.m. …
        """,
    )


# --- the model as a function ----------------------------------------------------------------------------


def test_the_same_call_twice_is_the_same(tmp_path: Path) -> None:
    calls = [TextCall(AGENT, tmp_path / name) for name in ("one", "two")]
    for call in calls:
        for text in TRANSCRIBED:
            call.says(text)
    assert calls[0].history == calls[1].history


def test_drafts_leave_no_trace(tmp_path: Path) -> None:
    plain, drafted = (TextCall(AGENT, tmp_path / name) for name in ("plain", "drafted"))
    for text in TRANSCRIBED:
        plain.says(text)
        half = " ".join(text.split()[: len(text.split()) // 2])
        drafted.drafts(half)
        drafted.drafts("No, forget about Friday, my name is Bob and I want to leave a message")
        drafted.drafts(text)
        drafted.says(text)
    # The desk gives what a draft asked for ids of its own, so that its late answers are known.
    assert [replace(e, ask="") for e in drafted.history] == [
        replace(e, ask="") for e in plain.history
    ]
    assert drafted.names == plain.names


def test_a_draft_says_what_the_turn_then_says(call: TextCall) -> None:
    hold(call, TO_TIMES)
    text = "Thursday at nine"
    assert call.drafts(text) == call.says(text)


def test_prompts_only_grow_at_their_end(call: TextCall) -> None:
    for text in TRANSCRIBED:
        call.says(text)
    for before, after in zip(call.requests, call.requests[1:], strict=False):
        assert after.history[: len(before.history)] == before.history
        assert (after.instructions, after.tools) == (before.instructions, before.tools)


def test_what_is_expected_is_told_with_each_question(call: TextCall) -> None:
    expected = []
    for text in TRANSCRIBED:
        call.says(text)
        expected.append(call.expects)
    assert expected == [
        "name",
        "spelling",
        "open",
        "open",
        "yes_no",
        "open",
        "yes_no",
        "yes_no",
        "yes_no",
        "",
    ]


@pytest.mark.parametrize("ahead", range(7))
def test_the_recorded_call_on_every_day_of_the_week(tmp_path: Path, ahead: int) -> None:
    call = TextCall(AGENT, tmp_path, began=TUESDAY + timedelta(days=ahead))
    for text in RECOGNISED:
        call.says(text)
    assert call.ended
    (booking,) = bookings(call)
    assert booking[1] == "08:00"
