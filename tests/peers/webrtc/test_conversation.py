"""Visitors who talk: greeted, answered, cutting in, hanging up; and what they truly heard."""

from __future__ import annotations

import csv
import re

import pytest

from tests.peers.webrtc.gateway import Gateway, wait
from tests.peers.webrtc.site import Site
from tests.peers.webrtc.sound import part, position, responses, spoken, voiced
from tests.peers.webrtc.visitor import SPEECH, Chromium

QUESTIONS = ("complete/tel_ibm2_howcanihelp.flac", "complete/tel_ar40_agent_8am.flac")
STOP = "interruption/wb_my_stop.flac"

CLOSE = 0.08
"""Seconds by which the log may differ from what the page's own sound says."""


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z']+", text.lower()))


def understood(name: str, text: str) -> float:
    """Return the share of a recording's words that a text has."""
    with (SPEECH / "manifest.csv").open() as file:
        said = next(words(row["transcript"]) for row in csv.DictReader(file) if row["file"] == name)
    return len(said & words(text)) / len(said)


def follows(wanted: list[str], states: list[str]) -> bool:
    """Say whether states came in an order, whatever was between them."""
    rest = iter(states)
    return all(state in rest for state in wanted)


def test_two_turns_are_held_and_their_captions_match(
    browser: Chromium, served: Gateway, home: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    with browser.visit(home.url) as guest:
        guest.record()
        guest.call()
        guest.answered(1)
        for turn, question in enumerate(QUESTIONS, 1):
            guest.say(question)
            wait(lambda n=turn: len(guest.captions("caller")) >= n, 20, "not heard")
            guest.answered(turn + 1)
        mine, theirs = guest.recorded()
        call = served.calls()[-1]
        guest.hang_up()
        assert served.wait_for("call_ended", call).fields["ended_by"] == "caller"
        lines = served.lines(call)

        # The words on the page are those in the log, and the log's are those that were spoken.
        said = [line.fields["text"] for line in lines if line.event == "caller_spoke"]
        assert guest.captions("caller") == said
        assert len(said) == len(QUESTIONS)
        assert all(understood(*each) > 0.5 for each in zip(QUESTIONS, said, strict=True)), said
        spoken = [line.fields["text"] for line in lines if line.event == "agent_spoke"]
        assert guest.captions("agent") == spoken
        states = [one["state"] for one in guest.events("state")]
        assert follows(
            ["speaking", "listening", *["thinking", "speaking", "listening"] * 2], states
        )

        # The response, as the page's own sound has it and as the log has it.
        turns = [line.fields for line in lines if line.event == "turn"]
        measured = responses(voiced(mine), voiced(theirs))
        # Where a filler was heard first, it is what the page played first.
        logged = [turn.get("acknowledged", turn["response"]) for turn in turns]
        with capsys.disabled():
            print("\nresponses at the page:", *(f"{each:.2f} s" for each in measured), end="")
            print("; in the log:", *(f"{each:.2f} s" for each in logged))
        assert measured == pytest.approx(logged, abs=CLOSE)
        for turn in turns:
            assert sum(turn["stages"].values()) == pytest.approx(turn["response"], abs=1e-3)


def test_a_cut_in_stops_the_sound_and_the_log_knows_where(
    browser: Chromium, served: Gateway, home: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    with browser.visit(home.url) as guest:
        guest.record()
        guest.call()
        wait(lambda: guest.events("caption"), 20, "no greeting")
        guest.say(STOP)
        wait(lambda: any(one["interrupted"] for one in guest.events("caption")), 20, "no cut-in")
        guest.state("listening")
        cut = served.wait_for("interrupted", served.calls()[-1])
        guest.pass_time(1.0)
        mine, theirs = guest.recorded()
        guest.hang_up()

        caption = next(one for one in guest.events("caption") if one["interrupted"])
        assert caption["text"] == cut.fields["heard_text"]
        assert cut.fields["text"].startswith(caption["text"])
        assert len(caption["text"]) < len(cut.fields["text"])
        # What the page played of the greeting is what the log says was heard of it; within one of
        # the greeting's own pauses nobody can tell.
        (began, stopped), *_ = voiced(theirs)
        greeting, heard = spoken(cut.fields["text"]), cut.fields["heard"]
        reached = position(part(theirs, began, stopped), greeting)
        (_, pause), *_ = reversed(voiced(part(greeting, 0.0, heard)))
        with capsys.disabled():
            print(f"\nheard at the page: {reached:.2f} s; in the log: {pause:.2f} to {heard:.2f} s")
        assert pause - CLOSE < reached < heard + CLOSE
        (onset, _), *_ = voiced(mine)
        assert 0 < stopped - onset < 1.0


@pytest.mark.wide
def test_the_agent_hangs_up(browser: Chromium, served: Gateway, home: Site) -> None:
    home.grant = {"seconds": 1}
    with browser.visit(home.url) as guest:
        guest.call()
        wait(lambda: guest.events("end"), 40, "the agent did not hang up")
        (end,) = guest.events("end")
        assert end["by"] == "agent"
        assert "The agent ended the call." in guest.saying()
        assert guest.captions("agent")[-1] == "The time for this call is over. Goodbye."
        assert served.wait_for("call_ended", served.calls()[-1]).fields["ended_by"] == "agent"


def test_who_types_is_answered(browser: Chromium, served: Gateway, home: Site) -> None:
    with browser.visit(home.url) as guest:
        guest.call()
        guest.answered(1)
        field = guest.page.locator("parley-widget").get_by_label("Type instead of speaking")
        field.fill("My check engine light is on.")
        field.press("Enter")
        wait(lambda: guest.captions("caller"), 10, "what was typed is not shown")
        assert guest.captions("caller") == ["My check engine light is on."]
        guest.answered(2)
        assert field.input_value() == ""
        guest.hang_up()


@pytest.mark.wide
def test_who_is_muted_is_not_heard(browser: Chromium, served: Gateway, home: Site) -> None:
    unheard, heard = QUESTIONS
    with browser.visit(home.url) as guest:
        guest.call()
        guest.answered(1)
        guest.press("Mute")
        assert "Your microphone is off" in guest.saying()
        guest.say(unheard)
        # Until it is over: what is said then is heard next, so this was not.
        guest.pass_time(3.5)
        guest.press("Unmute")
        assert "Your microphone is on" in guest.saying()
        guest.say(heard)
        wait(lambda: guest.captions("caller"), 20, "not heard after all")
        (said,) = guest.captions("caller")
        assert understood(heard, said) > 0.5 > understood(unheard, said)
        guest.hang_up()
