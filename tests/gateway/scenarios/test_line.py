"""Scenarios over a real line: what the caller measured and the log wrote is judged as ever."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.calls.gateway_process import ROOT, gateway
from gateway.agents.library import AgentLibrary, shipped
from gateway.caller.report import CallReport, CutIn, Turn
from gateway.caller.sound import load
from gateway.scenarios.conditions import heard_through
from gateway.scenarios.format import read
from gateway.scenarios.judgement import Judgement
from gateway.scenarios.line_call import NotOverLineError, fits, held_of, judged_part, logged
from gateway.scenarios.manners import manners
from gateway.scenarios.scenario import Scenario

AGENT = AgentLibrary(shipped()).get("workshop")
FILE = read(ROOT / "agents/workshop/sound.yaml")

REPORT = CallReport(
    "call-1",
    True,
    "caller",
    "done",
    turns=(Turn("hours", 7.0, 7.6, 0.6, 4.0, 5.5),),
    cut_ins=(CutIn(9.4, 9.8, 0.4, False, 1.8, "battery", 12.0, 12.7, 0.7),),
    seconds=20.0,
)

Line = tuple[float, str, dict[str, Any]]


def named(words: str) -> Scenario:
    (found,) = (each for each in FILE.scenarios if words in each.name)
    return found


def said(at: float, seconds: float, text: str) -> Line:
    return at, "agent_spoke", {"seconds": seconds, "text": text}


LOG: list[Line] = [
    (9.8, "interrupted", {"heard": 2.2, "heard_text": "We're open", "text": "We're open all day."}),
    said(16.0, 3.2, "I'm sorry about the battery. What's your last name?"),
]


def judged(scenario: Scenario, report: CallReport, lines: list[Line]) -> set[str]:
    held = held_of(report, ["turn", "cut_in"], lines, AGENT.tools)
    part = judged_part(scenario, bool(lines))
    return {each.kind for each in Judgement(part, AGENT, held).failures()}


def test_what_the_caller_measured_and_the_log_wrote_is_judged_together() -> None:
    scenario = named("cuts in")
    assert judged(scenario, REPORT, LOG) == set()
    assert judged(scenario, REPORT, [LOG[0], said(16.0, 3.2, "Pardon?")]) == {"text_mismatch"}
    assert judged(scenario, REPORT, []) == set()


def test_an_agent_that_is_late_or_does_not_stop_is_found_without_a_log() -> None:
    scenario = named("cuts in")
    (cut,) = REPORT.cut_ins
    late = replace(REPORT, cut_ins=(replace(cut, first_audio=14.0),))
    assert judged(scenario, late, []) == {"timeout"}
    deaf = replace(REPORT, cut_ins=(replace(cut, stopped=11.8, stop_delay=2.4),))
    assert judged(scenario, deaf, []) == {"not_stopped"}
    (turn,) = REPORT.turns
    silent = replace(
        REPORT,
        turns=(replace(turn, reply_seconds=1.0),),
        cut_ins=(replace(cut, stopped=None, stop_delay=None),),
    )
    assert judged(scenario, silent, []) == {"invalid"}
    figures = manners(held_of(REPORT, ["turn", "cut_in"], [], AGENT.tools)).figures()
    assert figures["yield_latency_mean"] == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("words", "what"),
    [("takes their time", "late_ms"), ("hang up", "hangs_up_ms"), ("bursts", "loss")],
)
def test_what_a_line_cannot_give_is_left_out(words: str, what: str) -> None:
    with pytest.raises(NotOverLineError, match=what):
        fits(named(words))


def test_lines_of_a_call_are_read_and_half_a_line_is_none(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(
        '{"call":"a","at":1.5,"event":"tool"}\n{"call":"b","at":2,"event":"tool"}\n{"call":"a","at'
    )
    ((at, event, fields),) = logged(path, "a")
    assert (at, event, fields["call"]) == (1.5, "tool", "a")


def test_regular_conditions_are_as_bad_as_they_are_said_to_be() -> None:
    sound = load(ROOT / "tests/data/speech/demo/tel_ar40_caller_light.flac", 8000)
    clean = np.frombuffer(sound.pcm, "<i2").astype(float)
    assert heard_through(sound.pcm, 8000, "control", random.Random(1)) == sound.pcm
    ratios, silent, frames = [], 0, 0
    for seed in range(30):
        came = np.frombuffer(heard_through(sound.pcm, 8000, "regular", random.Random(seed)), "<i2")
        again = heard_through(sound.pcm, 8000, "regular", random.Random(seed))
        assert came.tobytes() == again
        pieces = came[: len(came) // 160 * 160].reshape(-1, 160)
        lost = ~pieces.any(axis=1)
        silent, frames = silent + int(lost.sum()), frames + len(lost)
        quiet = pieces[: sound.speech_start // 160 - 2]
        noise = quiet[quiet.any(axis=1)].astype(float)
        voice = clean[sound.speech_start : sound.speech_end]
        ratios.append(20 * np.log10(np.sqrt((voice**2).mean()) / np.sqrt((noise**2).mean())))
    assert np.median(ratios) == pytest.approx(15, abs=4)
    assert silent / frames == pytest.approx(0.02, abs=0.012)


@pytest.mark.live
def test_scenarios_are_held_with_a_gateway_that_runs(tmp_path: Path) -> None:
    with gateway({"log": {"mask": "none"}}, folder=tmp_path) as served:
        command = [sys.executable, "-m", "gateway", "test", "agents/workshop/sound.yaml"]
        command += ["--line", served.target, "--log", str(served.log)]
        command += ["--only", "hears the last word"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 scenarios passed" in done.stdout
