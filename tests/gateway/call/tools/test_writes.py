"""The rules for tools that change the world, by example."""

from __future__ import annotations

import pytest

from gateway.call.tools.deeds import MOST_SECONDS
from gateway.call.tools.wants import BURST, Answer, TellModel
from gateway.events import RunTool
from tests.support.tool_desk import Desk, kinds

# --- writes ---------------------------------------------------------------------------------------


def test_a_write_in_a_draft_waits_for_the_turn_and_vanishes_with_the_draft() -> None:
    desk = Desk()
    assert desk.ask("note", draft=True) == []
    assert not desk.desk.busy
    assert kinds(desk.desk.confirm(1, desk.now)) == ["tool_ask a1", "run note a1"]
    assert desk.desk.busy
    desk.answer()
    assert desk.ask("note", draft=True, ask="a2", reply=2) == []
    assert desk.desk.drop(2) == []
    assert desk.passes(60) == []


def test_a_write_that_needs_a_yes_is_proposed_and_nothing_runs() -> None:
    desk = Desk()
    assert kinds(desk.ask("book", arguments={"time": "9"})) == ["tool_ask a1"]
    effects = desk.passes(BURST)
    assert kinds(effects) == ["tool_result a1: asked", "answer a1 proposed"]
    answer = effects[1]
    assert isinstance(answer, Answer)
    assert answer.ends
    assert answer.result["question"] == "Shall I book 9?"
    assert kinds(desk.desk.writes.speak_up()) == ["say Shall I book 9?"]
    assert desk.desk.writes.speak_up() == [], "one at a time"


def test_a_yes_that_was_heard_runs_what_was_read_back_and_the_model_goes_on_after_it() -> None:
    desk = Desk()
    assert desk.proposes() == "Shall I book 9?"
    effects = desk.hears("Yes, please.")
    assert kinds(effects) == ["agreed", "run book a1"]
    assert kinds(desk.answer("a1")) == [
        "tool_ask a1-yes",
        "tool_result a1-yes: data",
        "tell",
        "go on done",
    ]


@pytest.mark.parametrize("said", ["Yes, but at ten.", "What time was that?", "At nine.", "No."])
def test_anything_else_runs_nothing_and_closes_the_proposal(said: str) -> None:
    desk = Desk()
    desk.proposes()
    assert kinds(desk.hears(said)) == ["declined" if said == "No." else "lapsed"]
    assert desk.hears("Yes.") == []


def test_in_doubt_it_is_said_once_more() -> None:
    desk = Desk(again="Yes or no, please.")
    desk.proposes()
    assert kinds(desk.hears("Uh-huh.")) == ["again", "say Yes or no, please. Shall I book 9?"]
    assert kinds(desk.hears("I think so.")) == ["lapsed"]


def test_a_yes_to_what_was_not_heard_is_asked_again() -> None:
    desk = Desk()
    desk.proposes()
    assert kinds(desk.hears("Yes.", heard=False))[0] == "again"
    assert kinds(desk.hears("Yes."))[0] == "agreed"


def test_a_yes_after_an_answer_that_was_lost_is_asked_again() -> None:
    desk = Desk()
    desk.proposes()
    desk.desk.writes.answering(2)  # and its words never come
    assert kinds(desk.hears("Yes.", reply=3))[0] == "again"


def test_a_turn_that_was_none_changes_nothing() -> None:
    desk = Desk()
    desk.proposes()
    desk.desk.writes.answering(2)
    assert desk.desk.writes.no_answer(heard=True) == []
    assert kinds(desk.hears("Yes.", reply=3))[0] == "agreed"


def test_what_has_no_words_is_refused_before_anybody_is_asked() -> None:
    desk = Desk()
    desk.ask("book", arguments={"who": "Jack"})
    effects = desk.passes(BURST)
    assert kinds(effects) == ["tool_result a1: bad_arguments", "answer a1 refused go on"]
    assert desk.desk.writes.speak_up() == []


def test_a_drafted_write_is_proposed_when_its_turn_is_over() -> None:
    desk = Desk()
    assert desk.ask("book", draft=True, arguments={"time": "9"}) == []
    assert desk.desk.writes.speak_up() == []
    assert kinds(desk.desk.confirm(1, desk.now + 1)) == [
        "tool_ask a1",
        "tool_result a1: asked",
        "answer a1 proposed",
    ]


def test_a_yes_in_the_language_of_the_call() -> None:
    for language, verdict in (("de-DE", "agreed"), ("en", "lapsed")):
        desk = Desk(language=language)
        desk.proposes()
        assert kinds(desk.hears("Ja, machen wir so."))[0] == verdict


def test_a_cut_in_before_the_read_back_withdraws_it() -> None:
    desk = Desk()
    desk.ask("book", arguments={"time": "9"})
    assert kinds(desk.desk.interrupt(1, desk.now))[0] == "lapsed"
    assert desk.desk.writes.speak_up() == []


def test_writes_run_one_after_another_in_the_order_they_were_asked() -> None:
    desk = Desk()
    for ask in ("a1", "a2", "a3"):
        effects = desk.ask("note", ask=ask, arguments={"text": ask})
        assert kinds(effects)[1:] == (["run note a1"] if ask == "a1" else [])
    assert "run note a2" in kinds(desk.answer("a1"))
    assert "run note a3" in kinds(desk.answer("a2", outcome="failed"))
    desk.desk.interrupt(1, desk.now)


def test_a_cut_in_takes_back_what_has_not_begun() -> None:
    desk = Desk()
    desk.ask("note", ask="a1", arguments={"text": "one"})
    desk.ask("note", ask="a2", arguments={"text": "two"})
    assert kinds(desk.desk.interrupt(1, desk.now))[:2] == [
        "tool_result a1: running",
        "tool_result a2: cancelled",
    ]
    assert "run note a2" not in kinds(desk.answer("a1"))


def test_a_write_of_which_nothing_is_heard_is_given_up_as_uncertain_and_told_when_it_ends() -> None:
    desk = Desk()
    desk.ask("note", ask="a1")
    desk.ask("note", ask="a2", arguments={"text": "two"})
    effects = kinds(desk.passes(MOST_SECONDS))
    assert (
        effects[-3:] == ["note a1: uncertain", "tell", "go on uncertain"]
        or "run note a2" in effects
    )
    assert "go on uncertain" in effects
    assert "run note a2" in effects
    assert "go on done" in kinds(desk.answer("a1"))


def test_a_cut_in_leaves_a_write_running_and_its_result_reaches_the_model() -> None:
    desk = Desk()
    desk.ask("note")
    effects = desk.desk.interrupt(1, desk.now)
    assert kinds(effects) == ["tool_result a1: running", "answer a1 timeout"]
    late = desk.answer(result={"id": 7})
    assert kinds(late) == ["note a1: data", "tell", "go on done"]
    assert isinstance(late[1], TellModel)
    assert '{"id": 7}' in late[1].text


def test_a_write_over_its_time_goes_on_and_is_told_of_later() -> None:
    desk = Desk()
    desk.ask("note")
    desk.desk.sounding()
    assert kinds(desk.passes(5.0)) == ["tool_result a1: running", "answer a1 timeout go on"]
    assert kinds(desk.answer()) == ["note a1: data", "tell", "go on done"]


def test_an_identical_write_of_a_reply_is_done_once_and_answered_twice() -> None:
    desk = Desk()
    desk.ask("note", arguments={"text": "x"})
    desk.answer(result={"id": 7})
    assert kinds(desk.ask("note", ask="a2", arguments={"text": "x"})) == ["tool_ask a2"]
    effects = desk.passes(BURST)
    assert kinds(effects) == ["tool_result a2: data", "answer a2 done go on"]
    assert isinstance(effects[1], Answer)
    assert effects[1].result == {"id": 7, "repeated": True}


def test_an_identical_write_waits_for_the_one_that_runs() -> None:
    desk = Desk()
    desk.ask("note")
    desk.desk.interrupt(1, desk.now)
    assert kinds(desk.ask("note", ask="a2", reply=2)) == ["tool_ask a2"]
    assert kinds(desk.answer("a1")) == [
        "note a1: data",
        "tell",
        "go on done",
        "tool_result a2: data",
        "answer a2 done go on",
    ]


def test_the_same_wanted_once_more_is_another_deed() -> None:
    desk = Desk()
    keys = []
    for reply in (1, 3):
        desk.proposes(ask=f"a{reply}", reply=reply)
        effects = desk.hears("Yes.", reply=reply + 1)
        (run,) = [effect for effect in effects if isinstance(effect, RunTool)]
        keys.append(run.key)
        desk.answer(run.ask)
    assert len(set(keys)) == 2


def test_a_write_that_failed_may_be_tried_again_under_the_same_key() -> None:
    desk = Desk()
    (_, first) = desk.ask("note")
    desk.answer(outcome="failed", result={"error": "full"})
    (_, second) = desk.ask("note", ask="a2", reply=2)
    assert isinstance(first, RunTool)
    assert isinstance(second, RunTool)
    assert first.key == second.key


def test_within_one_reply_what_is_uncertain_is_not_tried_again() -> None:
    desk = Desk()
    desk.ask("note")
    desk.answer(outcome="uncertain", result={"error": "uncertain"})
    assert kinds(desk.ask("note", ask="a2")) == ["tool_ask a2"]
    assert kinds(desk.passes(BURST))[-1] == "answer a2 uncertain go on"


def test_after_the_end_of_the_call_what_was_agreed_is_still_done() -> None:
    desk = Desk()
    desk.ask("note", ask="a1", arguments={"text": "one"})
    desk.ask("note", ask="a2", arguments={"text": "two"})
    assert kinds(desk.desk.call_ended()) == ["run note a2"]


def test_the_end_of_the_call_stops_reads_and_lets_writes_finish() -> None:
    desk = Desk()
    desk.ask("look", ask="a1")
    desk.ask("note", ask="a2")
    assert kinds(desk.desk.call_ended()) == ["cancel a1"]
