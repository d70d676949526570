"""The example agent holds its conversations: what callers say, and what it says and does."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from gateway.agents.library import AgentLibrary, shipped
from gateway.scenarios.text_call import TUESDAY, TextCall
from tests.support.ladder import Ladder, booked, hold, read_ladders

AGENT = AgentLibrary(shipped()).get("workshop")
DIALOGUES = Path(__file__).parents[2] / "data" / "dialogues"
WORKSHOP = read_ladders(DIALOGUES / "workshop.txt")
RECORDED = read_ladders(DIALOGUES / "recorded.txt")

WRITTEN, HEARD, PIECES = (
    tuple(text for _, kind, text in RECORDED[title] if kind == "caller" and text != "Yeah.")
    for title in ("as people wrote it down", "as it was heard", "cut off at every pause")
)


def says(call: TextCall, text: str) -> None:
    """Say something, and a plain yes where that was not plain enough."""
    asked = "Shall I book" in call.history[-1].text
    call.says(text)
    if asked and "book" not in call.names:
        call.says("Yeah.")


@pytest.fixture
def call(tmp_path: Path) -> TextCall:
    return TextCall(AGENT, tmp_path)


def run(title: str, ladders: dict[str, Ladder], folder: Path) -> None:
    def make(given: dict[str, str]) -> TextCall:
        return TextCall(AGENT, folder, caller=given.pop("caller", ""), variables=given)

    hold(title, ladders, make)


@pytest.mark.parametrize("title", [title for title in WORKSHOP if not title.startswith("up to")])
def test_conversation(title: str, tmp_path: Path) -> None:
    run(title, WORKSHOP, tmp_path)


@pytest.mark.parametrize("title", RECORDED)
def test_the_recorded_call(title: str, tmp_path: Path) -> None:
    run(title, RECORDED, tmp_path)


@pytest.mark.parametrize(
    "left_out",
    [(0, 4), (4, 5), (5,), (4, 5, 8), (8,)],
    ids=["no opening", "no state of the car", "no walk-in", "short", "no thanks"],
)
@pytest.mark.parametrize("turns", [WRITTEN, HEARD], ids=["written", "heard"])
def test_the_recorded_call_gets_there_with_turns_left_out(
    call: TextCall, turns: tuple[str, ...], left_out: tuple[int, ...]
) -> None:
    said = [text for at, text in enumerate(turns) if at not in left_out]
    if 0 in left_out:
        said.insert(0, "um and uh, the the serms like came on already")
    for text in said:
        says(call, text)
    assert call.ended
    assert len(booked(call)) == 1


@pytest.mark.parametrize("ahead", range(7))
def test_the_recorded_call_gets_there_on_every_day_of_the_week(tmp_path: Path, ahead: int) -> None:
    call = TextCall(AGENT, tmp_path, began=TUESDAY + timedelta(days=ahead))
    for text in HEARD:
        says(call, text)
    assert call.ended
    (booking,) = booked(call)
    assert " 08:00 " in booking


# --- the model as a function ----------------------------------------------------------------------


def test_the_same_call_twice_is_the_same(tmp_path: Path) -> None:
    calls = [TextCall(AGENT, tmp_path / name) for name in ("one", "two")]
    for call in calls:
        for text in WRITTEN:
            call.says(text)
    assert calls[0].history == calls[1].history


def test_drafts_leave_no_trace(tmp_path: Path) -> None:
    plain, drafted = (TextCall(AGENT, tmp_path / name) for name in ("plain", "drafted"))
    for text in WRITTEN:
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
    for text in WRITTEN[:6]:
        call.says(text)
    drafted = call.drafts(WRITTEN[6])
    assert drafted == "I have Thursday at 8 a.m."
    assert call.says(WRITTEN[6]) == f"{drafted} Shall I book Thursday, December 4 at 8 a.m.?"


def test_prompts_only_grow_at_their_end(call: TextCall) -> None:
    for text in WRITTEN:
        call.says(text)
    for before, after in zip(call.requests, call.requests[1:], strict=False):
        assert after.history[: len(before.history)] == before.history
        assert (after.instructions, after.tools) == (before.instructions, before.tools)


def test_what_is_expected_is_told_with_each_question(call: TextCall) -> None:
    expected = []
    for text in WRITTEN[:8]:
        call.says(text)
        expected.append(call.expects)
    # What is read back before a booking is the gateway's question, not the model's.
    assert expected == ["name", "spelling", "open", "open", "yes_no", "open", "", "yes_no"]


def heard_otherwise() -> list[tuple[int, str]]:
    """List what recognisers made of each turn, with the place of the turn in the call."""
    text = (DIALOGUES / "heard.txt").read_text("utf-8")
    turns = text.split("\n## ")[1:]
    return [(at, line) for at, turn in enumerate(turns) for line in turn.splitlines()[1:] if line]


@pytest.mark.parametrize(("at", "text"), heard_otherwise())
def test_the_recorded_call_gets_there_however_a_turn_is_heard(
    call: TextCall, at: int, text: str
) -> None:
    for said in (*WRITTEN[:at], text, *WRITTEN[at + 1 :]):
        says(call, said)
    assert call.ended
    (booking,) = booked(call)
    assert booking.startswith("2025-12-04 08:00 Jack ")
