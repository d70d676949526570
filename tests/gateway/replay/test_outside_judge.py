"""hotato, a judge that knows nothing of this gateway, hears our recordings as the call log tells
them: when the caller came in, whether and when the agent fell silent, how long both talked.

It goes by energy, and the log by voice and by what the caller's end acknowledged: where they differ
by more than hotato's own resolution, one of them is wrong.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.replays.fleet import Delays, hold, settings_in
from gateway.caller.plan import CallPlan, CutIn, Say
from gateway.caller.sound import Recording
from tests.gateway.replay.calls import said

pytestmark = pytest.mark.wide

scan = pytest.importorskip("hotato.scan", reason="the extra `judge` brings hotato")

CONFIG = scan.ScoreConfig()

RESOLUTION = (CONFIG.frame_ms + CONFIG.hop_ms) / 1000 + CONFIG.onset_min_run_sec
"""Seconds: a frame and a hop of hotato's, and the least run that it takes for a sound."""

EDGE = 0.06
"""Seconds that the log's edges of speech may be off: two windows of the voice model."""


def clean(sound: Recording) -> Recording:
    """Return a recording that is silent where nobody speaks: hotato hears breath as well."""
    pcm = np.frombuffer(sound.pcm, "<i2").copy()
    pcm[: sound.speech_start] = 0
    pcm[sound.speech_end :] = 0
    return replace(sound, pcm=pcm.tobytes())


OPENING = clean(said("demo/tel_ar40_caller_light.flac"))

CUT_INS = (
    CallPlan((Say(OPENING), CutIn(clean(said("interruption/wb_my_stop.flac")), 0.9))),
    CallPlan((Say(OPENING), CutIn(clean(said("demo/tel_ar40_caller_nomore.flac")), 1.3))),
    CallPlan((Say(OPENING), CutIn(clean(said("complete/tel_ar40_agent_8am.flac")), 0.7))),
)

NODS = (
    CallPlan((Say(OPENING), CutIn(clean(said("backchannel/tel_ar40_sure.flac")), 1.0))),
    CallPlan((Say(OPENING), CutIn(clean(said("backchannel/tel_ibm2_okay1.flac")), 1.0))),
)


@dataclass(frozen=True, slots=True)
class Told:
    """A call as both tell it."""

    log: list[dict[str, Any]]
    moments: list[dict[str, Any]]
    "hotato's, in which the caller spoke while the agent was heard"
    agent: list[bool]
    "whether hotato hears the agent, a hundredth of a second each"

    def one(self, event: str) -> dict[str, Any]:
        """Return the log's only line of a kind."""
        (found,) = [line for line in self.log if line["event"] == event]
        return found

    def began(self, turn: int) -> float:
        """Return when the answer to a turn began to be heard."""
        return next(x["at"] for x in self.log if x["event"] == "turn" and x["turn"] == turn)


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[Told]:
    folder = tmp_path_factory.mktemp("recordings")
    reports = hold([*CUT_INS, *NODS], settings_in(folder), Delays())
    lines = [json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()]
    return [
        Told(
            [line for line in lines if line.get("call") == each.call_id],
            _overlaps(folder / f"{each.call_id}.wav"),
            scan.activity_tracks(str(folder / f"{each.call_id}.wav"))[1],
        )
        for each in reports
    ]


def _overlaps(recording: Path) -> list[dict[str, Any]]:
    found = scan.scan_recording(str(recording))["candidates"]
    return [each for each in found if each["kind"] == "overlap_while_agent_talking"]


@pytest.mark.parametrize("number", range(len(CUT_INS)))
def test_a_cut_in_is_where_the_log_says_and_the_agent_falls_silent_when_it_says(
    calls: list[Told], number: int
) -> None:
    told = calls[number]
    line, (moment,) = told.one("interrupted"), told.moments
    onset = line["at"] - line["stop_delay"]
    assert moment["t_sec"] == pytest.approx(onset, abs=RESOLUTION + EDGE)
    assert moment["agent_reaction"]["went_silent_within_search"]
    fell = told.began(line["turn"]) + line["heard"]
    silent = moment["t_sec"] + moment["agent_reaction"]["after_sec"]
    assert silent - CONFIG.agent_vad.hangover_sec <= fell + RESOLUTION
    # Where it was stopped in a pause between two words, the log counts the pause as heard too.
    assert not any(told.agent[round(100 * silent) : round(100 * (fell + 0.5))])
    both = moment["durations"]["overlap_sec"]
    assert both <= fell - moment["t_sec"] + RESOLUTION


@pytest.mark.parametrize("number", range(len(NODS)))
def test_a_nod_is_heard_by_both_and_stops_nobody(calls: list[Told], number: int) -> None:
    told = calls[len(CUT_INS) + number]
    assert not [line for line in told.log if line["event"] == "interrupted"]
    line, (moment,) = told.one("backchannel"), told.moments
    assert moment["t_sec"] < line["at"]
    assert moment["t_sec"] == pytest.approx(line["at"], abs=1.0)


def test_hotato_hears_no_other_talk_over_than_the_log(calls: list[Told]) -> None:
    for told in calls:
        overs = [x for x in told.log if x["event"] in ("interrupted", "backchannel", "resumed")]
        assert len(told.moments) == len(overs), (told.moments, overs)
