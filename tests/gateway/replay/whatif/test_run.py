"""Recorded calls are run with other settings as far as they can answer, and no further."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from gateway.caller.plan import CallPlan, CutIn, Say
from gateway.commands.replay import NAME
from gateway.replay.file import CallJournal, read
from gateway.replay.whatif.asked import Delays, Resources, outcomes
from gateway.replay.whatif.changes import applied, parse
from gateway.replay.whatif.run import Means, Outcome, Unfit, run
from gateway.replay.whatif.tables import call_lines, document
from gateway.replay.whatif.verdict import now_of, pairs, then_of, total
from gateway.replay.whatif.words_file import Word as TimedWord
from gateway.replay.whatif.words_file import WordTimes
from inference.runtime import Runtime
from tests.gateway.replay.calls import said
from tests.gateway.replay.test_compare import journaled
from turn.semantic import TurnAssessor

PAUSES, CUTS_IN = 0, 1

PLANS = (
    CallPlan(
        (Say(said("midpause/wb_sm_audio04.flac")), Say(said("demo/tel_ar40_caller_yeah.flac")))
    ),
    CallPlan(
        (
            Say(said("demo/tel_ar40_caller_light.flac")),
            CutIn(said("demo/tel_ar40_caller_nomore.flac"), 0.7),
        )
    ),
)


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[CallJournal]:
    return [read(path) for path in journaled(PLANS, tmp_path_factory.mktemp("journals"))]


def asked(journal: CallJournal, *changes: str, **means: object) -> Outcome:
    runtime = Runtime()
    try:
        return run(
            journal,
            applied(journal.header, [parse(each) for each in changes]),
            Means(
                partial(TurnAssessor(runtime).open, journal.header.info.rate),
                lambda: runtime.workers.busy,
                **means,  # type: ignore[arg-type]
            ),
        )
    finally:
        runtime.close()


def test_without_a_change_nothing_differs(calls: list[CallJournal]) -> None:
    for journal in calls:
        outcome = asked(journal)
        assert outcome.diverged is None
        then, now = then_of(outcome), now_of(outcome)
        assert (then.turns, then.cut_short, then.cut_ins) == (now.turns, now.cut_short, now.cut_ins)
        assert (then.drafts, then.model_calls) == (now.drafts, now.model_calls)
        assert now.responses == pytest.approx(then.responses, abs=0.03)
        assert not any("now" in name for name in outcome.sources), outcome.sources


def test_a_longer_wait_makes_answers_later_and_the_caller_waits_for_them(
    calls: list[CallJournal],
) -> None:
    outcome = asked(calls[PAUSES], "turn.silence=1.2")
    assert outcome.diverged is None
    assert len(pairs(outcome)) == then_of(outcome).turns
    for pair in pairs(outcome):
        assert pair.then is not None
        assert pair.now is not None
        assert pair.now.response == pytest.approx(1.4, abs=0.3)


def test_a_hasty_timer_cuts_in_and_nothing_is_judged_after_it(calls: list[CallJournal]) -> None:
    outcome = asked(calls[PAUSES], "turn.silence=0.2")
    assert now_of(outcome).cut_short == 1
    assert outcome.diverged is not None
    assert then_of(outcome).turns < sum(t.heard is not None for t in outcome.then.turns)
    assert any("diverged at" in line for line in call_lines(outcome))
    assert document(outcome)["why"] == outcome.diverged.why


def test_a_claim_that_is_not_made_now_ends_the_judgement(calls: list[CallJournal]) -> None:
    quiet = ("turn.overlap.going_on=9", "turn.overlap.nodding=9", "turn.overlap.limit=0.1")
    outcome = asked(calls[CUTS_IN], *quiet)
    assert outcome.diverged is not None
    assert "floor" in outcome.diverged.why


def test_delays_of_a_distribution_stand_for_the_measured_ones(calls: list[CallJournal]) -> None:
    resources = Resources(delays=Delays.parse("2.0"))
    found = total(list(outcomes(calls[1:], [], resources, lambda journal, why: None)))
    assert found.now.median is not None
    assert found.now.median > 2.0
    assert found.sources["delay, drawn"] >= found.now.turns


def test_words_of_a_file_are_heard_instead_of_those_of_the_recording(
    calls: list[CallJournal],
) -> None:
    nothing = WordTimes((TimedWord("hm", 0.0, 0.1),))
    outcome = asked(calls[PAUSES], words=nothing)
    assert outcome.sources["words, file"]
    assert "words, recording" not in outcome.sources


def test_a_call_whose_words_are_hidden_is_refused(calls: list[CallJournal]) -> None:
    from dataclasses import replace

    import msgspec

    hidden = replace(calls[0], header=msgspec.structs.replace(calls[0].header, mask="full"))
    with pytest.raises(Unfit, match="--words"):
        run(hidden, hidden.header, Means())


def test_the_command_prints_what_would_have_differed(
    calls: list[CallJournal], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from gateway.__main__ import main

    picture = tmp_path / "sweep.png"
    path = str(calls[PAUSES].path)
    assert main([NAME, path, "--set", "turn.silence=1.2"]) == 0
    printed = capsys.readouterr().out
    assert "turns judged, and on them:" in printed
    assert "answers came from:" in printed
    swept = [NAME, path, "--sweep", "turn.profile=default,patient", "--plot", str(picture)]
    assert main(swept) == 0
    assert "default" in capsys.readouterr().out
    assert picture.stat().st_size > 10_000
    assert main([NAME, path, "--set", "turn.vad=webrtc"]) == 2
    assert "cannot be changed in a recorded call" in capsys.readouterr().err
