"""The rules for tools, by example: what runs when, and what the model and the history are told."""

from __future__ import annotations

import pytest

from gateway.call.tools.deeds import MOST_SECONDS
from gateway.call.tools.desk import ToolDesk
from gateway.call.tools.wants import (
    BURST,
    Answer,
    DeskEffect,
    DeskRules,
    GiveUp,
    GoOn,
    Judged,
    Perform,
    Remember,
    SayFiller,
    SayProposal,
    TellModel,
)
from gateway.events import CancelTool, Json, RunTool, ToolAnswered, ToolAsked
from gateway.ports import ToolSpec
from gateway.tools.builtins import BUILTINS

LOOK = ToolSpec("look", "Look.", {"type": "object"}, timeout=5.0)
NOTE = ToolSpec("note", "Note.", {"type": "object"}, effect="write", timeout=5.0, filler="Noting.")
BOOK = ToolSpec(
    "book",
    "Book.",
    {"type": "object"},
    effect="write",
    confirm=True,
    timeout=5.0,
    say="Shall I book {time}[ for {who}]?",
)
SPECS = {spec.name: spec for spec in (LOOK, NOTE, BOOK)} | BUILTINS


class Desk:
    """A desk with a clock, on which asking and answering take one line."""

    def __init__(self, **rules: object) -> None:
        self.now = 100.0
        self.desk = ToolDesk(DeskRules("call-1", **rules))  # type: ignore[arg-type]
        self.desk.silent(self.now)

    def ask(
        self,
        name: str,
        *,
        draft: bool = False,
        ask: str = "a1",
        reply: int = 1,
        arguments: Json | None = None,
    ) -> list[DeskEffect]:
        event = ToolAsked(reply, ask, name, arguments or {})
        return self.desk.ask(event, SPECS.get(name), draft=draft, now=self.now)

    def answer(
        self, run: str = "a1", result: Json | None = None, outcome: str = "done", after: float = 0.5
    ) -> list[DeskEffect]:
        self.now += after
        event = ToolAnswered(run, result or {"ok": 1}, outcome, after)  # type: ignore[arg-type]
        return self.desk.answered(event, self.now)

    def proposes(self, time: str = "9", ask: str = "a1", reply: int = 1) -> str:
        """Let the model ask for a booking, and have it read back; give what is said."""
        self.ask("book", ask=ask, reply=reply, arguments={"time": time})
        self.passes(BURST)
        (said,) = self.desk.writes.speak_up()
        assert isinstance(said, SayProposal)
        return said.text

    def hears(self, text: str, *, heard: bool = True, reply: int = 2) -> list[DeskEffect]:
        """Let the caller answer what was read back."""
        self.desk.writes.answering(reply)
        return self.desk.answer(text, self.now, heard=heard)

    def passes(self, seconds: float) -> list[DeskEffect]:
        """Let time pass, waking the desk whenever it wants to be."""
        effects: list[DeskEffect] = []
        end = self.now + seconds
        while (at := self.desk.deadline) is not None and at <= end:
            self.now = max(self.now, at)
            effects += self.desk.time_passed(self.now)
        self.now = end
        return effects


def kinds(effects: list[DeskEffect]) -> list[str]:
    """Say in short what is to be done."""
    return [_short(effect) for effect in effects]


def _short(effect: DeskEffect) -> str:
    match effect:
        case RunTool(ask=ask, name=name):
            return f"run {name} {ask}"
        case CancelTool(ask=ask):
            return f"cancel {ask}"
        case SayProposal(text=text):
            return f"say {text}"
        case Judged(verdict=verdict):
            return verdict
        case GoOn(outcome=outcome):
            return f"go on {outcome}"
        case Perform(name=name):
            return f"perform {name}"
        case Remember(entry=entry):
            what = entry.data.get("error") or entry.data.get("status") or "data"
            return f"{entry.role} {entry.ask}" + ("" if entry.role == "tool_ask" else f": {what}")
        case Answer(ask=ask, outcome=outcome, proceed=proceed):
            return f"answer {ask} {outcome}" + (" go on" if proceed else "")
        case TellModel():
            return "tell"
        case SayFiller(text=text):
            return f"filler {text}".strip()
        case GiveUp():
            return "give up"


# --- reads ----------------------------------------------------------------------------------------


def test_a_read_runs_at_once_and_its_answer_lets_the_model_go_on() -> None:
    desk = Desk()
    assert kinds(desk.ask("look")) == ["tool_ask a1", "run look a1"]
    assert kinds(desk.answer()) == ["tool_result a1: data", "answer a1 done go on"]
    assert desk.desk.deadline is None


def test_a_read_in_a_draft_runs_and_is_remembered_only_when_the_turn_is_confirmed() -> None:
    desk = Desk()
    assert kinds(desk.ask("look", draft=True)) == ["run look a1"]
    (answer,) = desk.answer()
    assert answer == Answer(1, "a1", "a1", "look", {"ok": 1}, "done", True, draft=True, seconds=0.5)
    assert [entry.role for entry in desk.desk.entries(1)] == ["tool_ask", "tool_result"]
    assert kinds(desk.desk.confirm(1, desk.now)) == ["tool_ask a1", "tool_result a1: data"]
    assert desk.desk.entries(1) == ()


def test_a_draft_that_is_dropped_leaves_nothing() -> None:
    desk = Desk()
    desk.ask("look", draft=True)
    assert kinds(desk.desk.drop(1)) == ["cancel a1"]
    assert desk.answer() == []
    assert desk.passes(60) == []
    # The same request in the next draft has an id of its own, so that late answers are not its.
    assert kinds(desk.ask("look", draft=True, reply=2)) == ["run look a1~2"]
    assert desk.answer("a1") == []
    assert kinds(desk.answer("a1~2")) == ["answer a1 done go on"]


def test_a_read_that_takes_too_long_is_stopped_and_the_model_told() -> None:
    desk = Desk()
    desk.ask("look")
    assert kinds(desk.passes(5.0)) == [
        "filler",
        "filler",
        "filler",
        "cancel a1",
        "tool_result a1: timeout",
        "answer a1 timeout go on",
    ]
    assert desk.answer() == []


def test_a_cut_in_stops_a_read_and_leaves_its_request_answered() -> None:
    desk = Desk()
    desk.ask("look")
    effects = desk.desk.interrupt(1, desk.now)
    assert kinds(effects) == ["cancel a1", "tool_result a1: cancelled", "answer a1 cancelled"]
    assert desk.answer() == []
    assert desk.desk.deadline is None


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


# --- several, loops, unknown ones -----------------------------------------------------------------


def test_several_at_once_are_answered_together_and_the_model_goes_on_once() -> None:
    desk = Desk()
    desk.ask("look", ask="a1")
    desk.ask("nothing", ask="a2")
    desk.ask("nonsense", ask="a3")
    desk.ask("look", ask="a4")
    assert kinds(desk.answer("a4")) == []
    assert kinds(desk.answer("a1")) == [
        "tool_result a1: data",
        "tool_result a2: no_such_tool",
        "tool_result a3: no_such_tool",
        "tool_result a4: data",
        "answer a1 done",
        "answer a2 refused",
        "answer a3 refused",
        "answer a4 done go on",
    ]


def test_an_answer_that_is_there_at_once_waits_for_the_rest_of_the_burst() -> None:
    desk = Desk()
    desk.ask("look", ask="a1")
    assert desk.answer("a1", after=BURST / 2) == []
    desk.ask("look", ask="a2", arguments={"more": 1})
    assert kinds(desk.answer("a2")) == [
        "tool_result a1: data",
        "tool_result a2: data",
        "answer a1 done",
        "answer a2 done go on",
    ]


def test_a_model_in_a_loop_is_told_to_stop_and_then_given_up() -> None:
    desk = Desk(rounds=2)
    for n in (1, 2):
        desk.ask("look", ask=f"a{n}")
        assert kinds(desk.answer(f"a{n}"))[-1] == f"answer a{n} done go on"
    assert kinds(desk.ask("look", ask="a3")) == ["tool_ask a3"]
    assert kinds(desk.passes(1)) == ["tool_result a3: too_many", "answer a3 refused go on"]
    desk.ask("look", ask="a4")
    assert kinds(desk.passes(1)) == ["tool_result a4: too_many", "answer a4 refused", "give up"]
    # The next reply starts afresh.
    assert kinds(desk.ask("look", ask="a5", reply=2)) == ["tool_ask a5", "run look a5"]


def test_too_many_at_once_are_refused() -> None:
    desk = Desk(asks=2)
    for n in range(4):
        desk.ask("look", ask=f"a{n}")
    desk.answer("a0")
    assert kinds(desk.answer("a1"))[-2:] == ["answer a2 refused", "answer a3 refused go on"]


def test_built_ins_that_act_on_the_call_wait_for_the_turn_and_are_performed() -> None:
    desk = Desk()
    assert desk.ask("hang_up", draft=True) == []
    assert kinds(desk.desk.confirm(1, desk.now)) == ["tool_ask a1", "perform hang_up"]
    assert kinds(desk.answer()) == ["tool_result a1: data", "answer a1 done go on"]
    # Keys may be pressed twice.
    for ask in ("a2", "a3"):
        effects = desk.ask("send_keys", ask=ask, reply=2, arguments={"keys": "1"})
        assert "perform send_keys" in kinds(effects)
        desk.answer(ask)


# --- silence --------------------------------------------------------------------------------------


def test_silence_over_a_tool_is_broken_at_growing_intervals() -> None:
    desk = Desk(fillers=(1.0, 1.4, 1.8))
    slow = ToolSpec("slow", "", {}, timeout=60.0, filler="Let me look.")
    desk.desk.ask(ToolAsked(1, "a1", "slow", {}), slow, draft=False, now=desk.now)
    moments = []
    for _ in range(4):
        at = desk.desk.deadline
        assert at is not None
        assert kinds(desk.desk.time_passed(at)) == ["filler Let me look."]
        moments.append(at - 100.0)
        desk.desk.sounding()
        desk.desk.silent(at + 0.5)  # the line itself takes half a second
    assert moments == pytest.approx([1.0, 2.9, 5.2, 7.5])


def test_there_is_no_filler_while_the_agent_speaks_or_a_draft_runs() -> None:
    desk = Desk()
    desk.desk.sounding()
    desk.ask("look")
    assert kinds(desk.passes(3)) == []
    desk.desk.silent(desk.now)
    assert kinds(desk.passes(1)) == ["filler"]
    drafting = Desk()
    drafting.ask("look", draft=True)
    assert kinds(drafting.passes(4)) == []
    drafting.desk.confirm(1, drafting.now)
    assert kinds(drafting.passes(0.99)) == []


def test_silence_before_the_tool_does_not_count() -> None:
    desk = Desk()
    desk.passes(30)
    desk.ask("look")
    assert kinds(desk.passes(0.9)) == []
    assert kinds(desk.passes(0.2)) == ["filler"]
