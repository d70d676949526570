"""Scenarios held with sound: the same each time, and faults in manners and timing are found."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from gateway.agents.library import AgentLibrary, shipped
from gateway.call.mouth import Mouth, PlayoutEffect
from gateway.events import Duck, Flush, Hold
from gateway.scenarios.bursts import Bursts
from gateway.scenarios.format import ScenarioError, read
from gateway.scenarios.manners import Manners
from gateway.scenarios.moves import Move, parse, smaller
from gateway.scenarios.scenario import Loss, Scenario, ScenarioFile
from gateway.scenarios.sound_leg import SoundLeg
from gateway.scenarios.sound_parts import Notes, SpokenWord
from gateway.scenarios.sound_run import SoundRun
from gateway.scenarios.text_call import scripted
from media.playout_vocabulary import Chunk

IGNORED = ("backchannel_rate", "vocal_tic_rate", "non_directed_rate")

AGENT = AgentLibrary(shipped()).get("workshop")
FILE = Path(__file__).parents[3] / "agents/workshop/sound.yaml"


@pytest.fixture(scope="module")
def file() -> ScenarioFile:
    return read(FILE)


def held(file: ScenarioFile, **parts: object) -> SoundRun:
    return SoundRun(file, AGENT, lambda: scripted(AGENT), **parts)  # type: ignore[arg-type]


def named(file: ScenarioFile, words: str) -> Scenario:
    (found,) = (each for each in file.scenarios if words in each.name)
    return found


def kinds(run: SoundRun, scenario: Scenario, moves: Sequence[Move] = ()) -> set[str]:
    return {failure.kind for failure in run.result(scenario, tuple(moves))[0].failures}


def test_all_of_the_example_agent_pass_twice_and_alike(file: ScenarioFile) -> None:
    run, total = held(file), Manners()
    for scenario in file.scenarios:
        first, manners = run.result(scenario, ())
        again, same = run.result(scenario, ())
        assert first.failures == ()
        assert (first.transcript, manners) == (again.transcript, same)
        total += manners
    figures = total.figures()
    assert figures["response_rate"] == figures["yield_rate"] == 1
    assert {figures[each] for each in IGNORED} == {1}
    assert figures["agent_interruption_rate"] == 0


def test_a_late_answer_is_found(file: ScenarioFile) -> None:
    scenario = named(file, "in time")
    (expect,) = scenario.turns[0].expect
    hurried = replace(scenario.turns[0], expect=(replace(expect, within_ms=100),))
    assert kinds(held(file), replace(scenario, turns=(hurried,))) == {"timeout"}


# --- planted faults -----------------------------------------------------------------------------


def test_an_unanswered_turn_is_found(file: ScenarioFile, monkeypatch: pytest.MonkeyPatch) -> None:
    send = SoundLeg.send

    def lost(leg: SoundLeg, chunks: Sequence[Chunk]) -> None:
        send(leg, [each for each in chunks if each.utterance <= 1])

    monkeypatch.setattr(SoundLeg, "send", lost)
    assert "unanswered" in kinds(held(file), named(file, "in time"))


def test_an_agent_that_does_not_stop_is_found(
    file: ScenarioFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    perform = Mouth.perform

    def deaf(mouth: Mouth, effect: PlayoutEffect, now: float) -> None:
        if not isinstance(effect, Flush | Hold | Duck):
            perform(mouth, effect, now)

    monkeypatch.setattr(Mouth, "perform", deaf)
    assert "not_stopped" in kinds(held(file), named(file, "cuts in"))


def test_a_nod_that_is_obeyed_is_found(file: ScenarioFile, monkeypatch: pytest.MonkeyPatch) -> None:
    within = Notes.within

    def misheard(notes: Notes, start: int, end: int) -> list[SpokenWord]:
        found = within(notes, start, end)
        return [replace(each, text="stop") if each.text == "uh-huh" else each for each in found]

    monkeypatch.setattr(Notes, "within", misheard)
    assert "stopped_for_sound" in kinds(held(file), named(file, "nod"))


def test_a_hang_up_before_the_last_word_is_found(
    file: ScenarioFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = SoundLeg.send

    def hasty(leg: SoundLeg, chunks: Sequence[Chunk]) -> None:
        send(leg, chunks)
        if chunks and chunks[0].utterance == 3 and leg.waiting is None:
            leg.hang_up("done")

    monkeypatch.setattr(SoundLeg, "send", hasty)
    assert "cut_off" in kinds(held(file), named(file, "goodbye"))


# --- timings ------------------------------------------------------------------------------------


def test_moves_are_read_as_they_are_written() -> None:
    moves = parse("cut:2:800,cough:1:400")
    assert moves == (Move("cut", 1, 800), Move("cough", 0, 400))
    assert ",".join(str(each) for each in moves) == "cut:2:800,cough:1:400"
    for wrong in ("cut", "cut:0:800", "sneeze:1:20", "cut:1:-20"):
        with pytest.raises(ValueError, match="it must be KIND:TURN:MILLISECONDS"):
            parse(wrong)


def test_what_is_smaller_has_fewer_moves_first() -> None:
    moves = (Move("cut", 1, 800), Move("late", 1, 400))
    assert smaller(moves)[:2] == [(moves[1],), (moves[0],)]
    assert all(sum(each.ms for each in one) < 1200 for one in smaller(moves))


def test_a_sound_out_of_place_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        "agent: workshop\nscenarios:\n  - name: x\n    turns:\n      - user: hi\n"
        "        sounds: [{kind: sneeze, at_ms: 3}]\n"
    )
    with pytest.raises(ScenarioError, match=r"x\.yaml:6: .*sneeze"):
        read(path)


def test_what_failed_is_kept_with_labels(file: ScenarioFile, tmp_path: Path) -> None:
    scenario = replace(named(file, "nod"), ended=True)
    assert kinds(held(file, keep=tmp_path), scenario) == {"not_ended"}
    (labels,) = tmp_path.glob("*.txt")
    assert labels.with_suffix(".wav").stat().st_size > 10_000
    rows = [line.split("\t") for line in labels.read_text().splitlines()]
    assert [row[2] for row in rows].count("caller: backchannel") == 2
    assert all(float(start) <= float(end) for start, end, _ in rows)


def test_a_search_shrinks_what_fails_and_the_moves_show_it_again(
    file: ScenarioFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    within = Notes.within

    def misheard(notes: Notes, start: int, end: int) -> list[SpokenWord]:
        return [
            replace(each, text=each.text.replace("mhm", "stop"))
            for each in within(notes, start, end)
        ]

    monkeypatch.setattr(Notes, "within", misheard)
    run, scenario = held(file), named(file, "cough")
    found = run.search(scenario, 40, seed=1)
    assert found is not None
    assert found == run.search(scenario, 40, seed=1)
    moves = parse(found.moves)
    assert len(moves) == 1
    assert found.kind in kinds(run, scenario, moves)
    assert kinds(run, scenario) == set()


def test_a_caller_who_could_not_do_what_they_should_makes_a_run_invalid(file: ScenarioFile) -> None:
    scenario = named(file, "cuts in")
    first, second = scenario.turns
    late = replace(scenario, turns=(first, replace(second, heard=40)))
    assert kinds(held(file), late) == {"invalid"}
    nod = named(file, "a nod")
    (turn,) = nod.turns
    sounds = (replace(turn.sounds[0], at_ms=9_000),)
    assert kinds(held(file), replace(nod, turns=(replace(turn, sounds=sounds),))) == {"invalid"}


def test_an_agent_that_listens_to_somebody_else_is_found(file: ScenarioFile) -> None:
    scenario = named(file, "somebody else in the room")
    (turn,) = scenario.turns
    near = replace(turn.sounds[0], kind="backchannel", text="no I want to ask about my battery")
    assert kinds(held(file), replace(scenario, turns=(replace(turn, sounds=(near,)),))) == {
        "stopped_for_sound",
        "text_mismatch",
    }


def test_keys_are_pressed_and_a_caller_leaves_when_they_should(file: ScenarioFile) -> None:
    scenario = named(file, "hang up")
    (turn,) = scenario.turns
    pressed = replace(turn, user="", dtmf="1", hangs_up_ms=None)
    result, _ = held(file).result(replace(scenario, turns=(pressed,)), ())
    assert result.failures == ()
    assert [line.text for line in result.transcript if line.who == "caller"] == ["(pressed 1)"]


def test_frames_are_lost_in_bursts_of_the_length_and_share_that_was_asked_for() -> None:
    bursts = Bursts(Loss(0.1, 100), random.Random(1))
    fate = [bursts.next() for _ in range(100_000)]
    begun = sum(lost and not before for before, lost in pairwise(fate))
    assert sum(fate) / len(fate) == pytest.approx(0.1, rel=0.1)
    assert 20 * sum(fate) / begun == pytest.approx(100, rel=0.1)
