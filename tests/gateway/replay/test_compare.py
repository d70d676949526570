"""Calls that are run again do what they did, and what makes them do something else is found."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gateway.caller.plan import CallPlan, CutIn, Keys, Say
from gateway.plumbing import virtual_time
from gateway.replay.compare import check
from gateway.replay.file import read
from inference.runtime import Runtime
from tests.gateway.replay.calls import hold, said
from turn.semantic import TurnAssessor
from turn.vad import VoiceActivity

PLANS = (
    CallPlan(
        (
            Say(said("demo/tel_ar40_caller_light.flac")),
            CutIn(said("demo/tel_ar40_caller_yeah.flac"), 0.6),
        )
    ),
    CallPlan((Say(said("midpause/wb_sm_audio04.flac")),), keys=(Keys("12", 3.0),)),
    CallPlan(
        (
            Say(said("incomplete/tel_ar40_because.flac")),
            CutIn(said("demo/tel_ar40_caller_nomore.flac"), 0.3),
        ),
    ),
    CallPlan((Say(said("demo/tel_ar40_caller_8to10.flac")),), hang_up_after=6.0),
)


def journaled(plans: tuple[CallPlan, ...], folder: Path) -> list[Path]:
    """Hold calls with the models that are shipped."""
    runtime = Runtime()
    try:

        async def story() -> list[Path]:
            voices, assessor = VoiceActivity(runtime), TurnAssessor(runtime)
            voices.attend()
            return await hold(
                plans,
                folder,
                voice=lambda hear: voices.open(8000, hear),
                detector=lambda recent: assessor.open(8000, recent),
            )

        return virtual_time.run(story(), [lambda: runtime.workers.busy])
    finally:
        runtime.close()


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return journaled(PLANS, tmp_path_factory.mktemp("journals"))


def test_calls_run_again_in_any_order_twice_do_what_they_did(journals: list[Path]) -> None:
    """Real models heard recorded speech; cut-ins, keys and a hang-up in the middle are in it."""
    for _ in range(2):
        for path in random.sample(journals, len(journals)):
            journal = read(path)
            assert not journal.cut
            verdict = check(journal)
            assert verdict.difference is None
            assert verdict.lines == len(journal.records) > 500


def test_what_a_call_was_asked_and_did_is_in_its_journal(journals: list[Path]) -> None:
    kinds = {type(record).__name__ for record in read(journals[0]).records}
    assert kinds >= {
        "Sound", "Line", "Far", "Beat", "Voice", "Judged", "Words", "Opened", "Said", "Ready",
        "Did", "Closed",
    }  # fmt: skip
