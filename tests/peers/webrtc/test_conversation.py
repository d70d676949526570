"""Visitors who talk: greeted, answered, cutting in, hanging up; and what they truly heard."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from media.level import levels
from tests.peers.webrtc.gateway import Gateway, wait
from tests.peers.webrtc.site import site
from tests.peers.webrtc.visitor import RATE, speech, visitor

if TYPE_CHECKING:
    from playwright.sync_api import Playwright

WINDOW = 0.01
VOICED_DB = -42.0
"""Between speech and the silence of digital recordings, at the windows below."""


def voiced(pcm: bytes) -> list[tuple[float, float]]:
    """Give the stretches in which somebody speaks, in seconds; pauses to 0.35 s belong to them."""
    loud = np.flatnonzero(levels(pcm, RATE, WINDOW) > VOICED_DB)
    if not len(loud):
        return []
    breaks = np.flatnonzero(np.diff(loud) > 0.35 / WINDOW)
    starts = [loud[0], *loud[breaks + 1]]
    ends = [*loud[breaks], loud[-1]]
    return [(a * WINDOW, (b + 1) * WINDOW) for a, b in zip(starts, ends, strict=True)]


def responses(mine: list[tuple[float, float]], theirs: list[tuple[float, float]]) -> list[float]:
    """Give the silence between what the visitor said last and what the agent said next."""
    found: dict[float, float] = {}
    for start, _ in theirs:
        before = [end for _, end in mine if end < start]
        if before:
            found.setdefault(before[-1], start - before[-1])
    return list(found.values())


@pytest.mark.slow
def test_two_turns_are_held_and_their_captions_match(
    driver: Playwright, served: Gateway, tmp_path: Path
) -> None:
    first, second = "complete/tel_ibm2_howcanihelp.flac", "complete/tel_ar40_agent_8am.flac"
    microphone = speech(tmp_path / "mic.wav", 8.0, first, 6.5, second, 30.0)
    with site(served.url) as page, visitor(driver, page.url, microphone) as guest:
        guest.press("Talk to us")
        guest.connected()
        guest.record()
        wait(
            lambda: len(guest.captions("caller")) >= 2, 60, f"no two turns: {guest.events('state')}"
        )
        wait(lambda: len(guest.captions("agent")) >= 3, 30, "no answer to the second turn")
        mine, theirs = guest.recorded()
        call = served.calls()[-1]
        guest.press("Hang up")
        ended = served.wait_for("call_ended", call)
        assert ended.fields["ended_by"] == "caller"
        lines = served.lines(call)

        # The words on the page are those in the log, and the log's are those that were spoken.
        said = [line.text("text") for line in lines if line.event == "caller_spoke"]
        assert guest.captions("caller") == said[: len(guest.captions("caller"))]
        assert "calling" in said[0].lower()
        assert "m." in said[1].lower()  # "eight a.m.", however it is written
        fields = {"agent_spoke": "text", "interrupted": "heard_text"}
        spoken = [line.text(fields[line.event]) for line in lines if line.event in fields]
        assert guest.captions("agent") == [text for text in spoken if text]
        states = [one["state"] for one in guest.events("state") if one["state"]]
        assert [s for s in states if s != "listening"][:5] == [
            "speaking", "thinking", "speaking", "thinking", "speaking"
        ]  # fmt: skip

        # The response, as the page's own sound has it and as the log has it.
        turns = [line for line in lines if line.event == "turn"]
        for turn in turns[:2]:
            assert sum(turn.fields["stages"].values()) == pytest.approx(
                turn.fields["response"], abs=1e-3
            )
        measured = responses(voiced(mine), voiced(theirs))
        assert len(measured) >= 2
        for seconds, turn in zip(measured, turns, strict=False):
            # Where a filler was heard first, it is what the page played first.
            logged = turn.fields.get("acknowledged", turn.fields["response"])
            assert seconds == pytest.approx(logged, abs=0.08)


@pytest.mark.slow
def test_a_cut_in_stops_the_sound_and_the_log_knows_where(
    driver: Playwright, served: Gateway, tmp_path: Path
) -> None:
    microphone = speech(tmp_path / "mic.wav", 2.5, "interruption/wb_my_stop.flac", 40.0)
    with site(served.url) as page, visitor(driver, page.url, microphone) as guest:
        guest.press("Talk to us")
        guest.connected()
        guest.record()
        wait(lambda: any(one["interrupted"] for one in guest.events("caption")), 20, "no cut-in")
        time.sleep(1.0)
        mine, theirs = guest.recorded()
        cut = served.wait_for("interrupted", served.calls()[-1])
        guest.press("Hang up")

        caption = next(one for one in guest.events("caption") if one["interrupted"])
        assert caption["text"] == cut.text("heard_text")
        assert cut.text("text").startswith(caption["text"])
        assert len(caption["text"]) < len(cut.text("text"))
        # What the page played of the greeting is what the log says was heard of it.
        (began, stopped), *_ = voiced(theirs)
        assert stopped - began == pytest.approx(cut.fields["heard"], abs=0.08)
        (onset, _), *_ = voiced(mine)
        assert 0 < stopped - onset < 1.0


def test_the_agent_hangs_up(driver: Playwright, served: Gateway, tmp_path: Path) -> None:
    with (
        site(served.url, grant={"seconds": 2}) as page,
        visitor(driver, page.url, speech(tmp_path / "mic.wav", 60.0)) as guest,
    ):
        guest.press("Talk to us")
        guest.connected()
        wait(lambda: guest.events("end"), 40, "the agent did not hang up")
        (end,) = guest.events("end")
        assert end["by"] == "agent"
        assert "The agent ended the call." in guest.saying()
        assert guest.captions("agent")[-1] == "The time for this call is over. Goodbye."
        assert served.wait_for("call_ended", served.calls()[-1]).fields["ended_by"] == "agent"


def test_who_types_is_answered(driver: Playwright, served: Gateway, tmp_path: Path) -> None:
    with (
        site(served.url) as page,
        visitor(driver, page.url, speech(tmp_path / "mic.wav", 60.0)) as guest,
    ):
        guest.press("Talk to us")
        guest.connected()
        wait(lambda: guest.captions("agent"), 20, "no greeting")
        field = guest.page.locator("parley-widget").get_by_label("Type instead of speaking")
        field.fill("My check engine light is on.")
        field.press("Enter")
        wait(lambda: guest.captions("caller"), 10, "what was typed is not shown")
        assert guest.captions("caller") == ["My check engine light is on."]
        wait(lambda: len(guest.captions("agent")) >= 2, 20, "no answer")
        assert field.input_value() == ""


def test_who_is_muted_is_not_heard(driver: Playwright, served: Gateway, tmp_path: Path) -> None:
    microphone = speech(tmp_path / "mic.wav", 7.5, "complete/tel_ibm2_howcanihelp.flac", 30.0)
    with site(served.url) as page, visitor(driver, page.url, microphone) as guest:
        guest.press("Talk to us")
        guest.connected()
        guest.press("Mute")
        assert "Your microphone is off" in guest.saying()
        time.sleep(13)
        assert guest.captions("caller") == []
        guest.press("Unmute")
        assert "Your microphone is on" in guest.saying()
