"""The rules for tools, by example: what runs when, and what the model is told."""

from __future__ import annotations

import pytest

from gateway.call.tools.wants import BURST, Answer
from gateway.events import ToolAsked
from gateway.ports import ToolSpec
from tests.support.tool_desk import Desk, kinds

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
