"""The rules for tools under any order of asking, drafting, answering, cutting in and waiting.

No deed without its own heard proposal and its yes, none twice, none lost, none in another order; no
draft leaves a trace; the model goes on once a round; the caller never waits two seconds without a
word.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gateway.call.tools.desk import ToolDesk
from gateway.call.tools.wants import (
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
from gateway.events import CancelTool, Entry, RunTool, ToolAnswered, ToolAsked
from gateway.ports import ToolSpec

SPECS = {
    "look": ToolSpec("look", "", {}, timeout=3.0),
    "note": ToolSpec("note", "", {}, effect="write", timeout=3.0),
    "book": ToolSpec("book", "", {}, effect="write", confirm=True, timeout=3.0, say="Book {x}?"),
}
WRITES = {"note", "book"}
WORDS = ("Yes.", "No.", "Yes, but later.", "At nine.", "Um, yeah, so let's do it.", "Uh-huh.")
ALIVE = ("draft", "confirmed")
PLAIN = {"Yes.", "Um, yeah, so let's do it."}


class World(RuleBasedStateMachine):
    """A call around a desk: a model that asks, tools that answer, a caller who cuts in."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 50.0
        self.desk = ToolDesk(DeskRules("call", rounds=2, asks=3, again=""))
        self.desk.silent(self.now)
        self.history: list[Entry] = []
        self.running: dict[str, RunTool] = {}
        self.done: Counter[str] = Counter()
        "deeds by key: how often each was done"
        self.results: dict[str, str] = {}
        "what each finished write gave, by its run"
        self.reply = 0
        self.phase: Literal["idle", "draft", "confirmed", "ended"] = "idle"
        "of the present reply; idle: it was given up or interrupted, or there is none yet"
        self.said: tuple[str, str] | None = None
        "the proposal that was read back last and what it said"
        self.heard = False
        "the caller heard that to its end, and nothing after it"
        self.agreed: dict[str, str] = {}
        "proposals that got a plain yes after they were heard, with what they said, in order"
        self.begun: list[str] = []
        "writes in the order in which they began"
        self.owed: list[str] = []
        "proposals with a yes that have not begun"
        self.left = 0
        "how many tools the present reply may still ask for"
        self.open: set[str] = set()
        "requests of the present round that the model has no answer to"
        self.silent_since = self.now
        self.waiting_since: float | None = None
        "since when a write is waited for"

    # --- what the desk wants done -----------------------------------------------------------

    def do(self, effects: list[DeskEffect]) -> None:
        for effect in effects:
            match effect:
                case RunTool():
                    self.run_tool(effect)
                case CancelTool(ask=ask):
                    tool = self.running.pop(ask)
                    assert tool.name not in WRITES, "a write is never stopped"
                case Remember(entry=entry):
                    of_deed = entry.role == "note" or entry.ask.endswith("-yes")
                    assert self.phase != "draft" or of_deed, "a draft leaves no trace"
                    self.history.append(entry)
                case Answer():
                    self.answer(effect)
                case SayProposal(run=run, text=text):
                    self.said, self.heard = (run, text.strip()), False
                case Judged(run=run, verdict=verdict):
                    if verdict == "agreed":
                        assert self.said is not None
                        assert self.said[0] == run
                        self.agreed[run] = self.said[1]
                        self.owed.append(run)
                case GiveUp():
                    assert not self.open
                    self.phase = "idle"
                case SayFiller():
                    self.silent_since = self.now
                case TellModel() | GoOn():
                    pass
                case Perform():
                    raise AssertionError("no built-in was asked for")

    def run_tool(self, tool: RunTool) -> None:
        assert tool.ask not in self.running
        if tool.name in WRITES:
            ahead = [each for each in self.running.values() if each.name in WRITES]
            assert not ahead or self.phase == "ended", "one write after another"
            assert tool.ask not in self.begun, "a deed that began does not begin again"
            assert self.done[tool.key] == 0, "a deed that was done is not done again"
            self.begun.append(tool.ask)
            if tool.name == "book":
                assert self.agreed[tool.ask] == f"Book {tool.arguments['x']}?", "what was read back"
                assert self.owed.pop(0) == tool.ask, "in the order of the yeses"
        self.running[tool.ask] = tool

    def answer(self, answer: Answer) -> None:
        assert answer.ask in self.open, "one answer to each request"
        self.open.discard(answer.ask)
        if answer.name in WRITES and answer.outcome == "done":
            assert answer.result["value"] in self.results.values(), "done is what was done"
        if answer.proceed or answer.ends:
            assert not self.open, "the model goes on when everything is answered"
            assert self.phase in ALIVE

    # --- what happens ---------------------------------------------------------------------------

    @precondition(lambda self: self.phase == "idle")
    @rule(text=st.sampled_from(WORDS), draft=st.booleans(), lost=st.booleans())
    def turn(self, text: str, draft: bool, lost: bool) -> None:
        """The caller's turn may be ending, or ends; its words may never be known."""
        self.reply += 1
        self.left, self.phase = 12, "draft"
        self.open.clear()
        waiting = self.desk.writes.open
        if waiting is not None or not draft:  # while something is asked, nothing is drafted
            self.phase = "confirmed"
        if waiting is not None:
            self.desk.writes.answering(self.reply)
            if not lost:
                self.judged(text)

    def judged(self, text: str) -> None:
        waiting, before = self.desk.writes.open, len(self.agreed)
        assert waiting is not None
        heard = self.heard and self.said is not None and self.said[0] == waiting.run
        self.do(self.desk.answer(text, self.now, heard=heard))
        if len(self.agreed) > before:
            assert heard, "no consent to what was not heard"
            assert text in PLAIN, "no consent without a yes"

    @precondition(lambda self: self.phase == "idle" and self.desk.writes.open is not None)
    @rule(text=st.sampled_from(WORDS), heard=st.sampled_from([True, True, False]))
    def answers(self, text: str, heard: bool) -> None:
        """The read-back is heard to its end, or not, or not last, and the caller answers."""
        self.heard = heard
        self.turn(text, draft=False, lost=False)

    @precondition(lambda self: self.phase == "idle")
    @rule(
        wanted=st.lists(
            st.tuples(st.sampled_from(["book", "book", "note"]), st.integers(0, 1)),
            min_size=1,
            max_size=3,
        ),
        ends=st.booleans(),
    )
    def orders(self, wanted: list[tuple[str, int]], ends: bool) -> None:
        """The caller wants something, the model asks for it, and mostly says no more."""
        self.turn("At nine.", draft=False, lost=False)
        for name, argument in wanted:
            if self.phase == "confirmed":
                self.ask(name, argument, reuse=False)
        if ends:
            self.passes(0.3)
            if self.phase == "confirmed" and not self.open:
                self.reply_ends()

    @precondition(lambda self: self.phase in ALIVE and self.left)
    @rule(
        name=st.sampled_from([*SPECS, "nonsense"]),
        argument=st.integers(0, 1),
        reuse=st.booleans(),
    )
    def ask(self, name: str, argument: int, reuse: bool) -> None:
        """The model asks for a tool, perhaps under an id it has used before."""
        self.left -= 1
        ask = f"a{argument}" if reuse and f"a{argument}" not in self.open else f"n{self.now}"
        if ask in self.open:
            return
        self.open.add(ask)
        event = ToolAsked(self.reply, ask, name, {"x": argument})
        draft = self.phase == "draft"
        self.do(self.desk.ask(event, SPECS.get(name), draft=draft, now=self.now))
        self.now += 0.001

    @precondition(lambda self: self.phase == "draft")
    @rule()
    def confirm(self) -> None:
        """The drafted turn is over."""
        self.phase = "confirmed"
        self.do(self.desk.confirm(self.reply, self.now))

    @precondition(lambda self: self.phase == "confirmed" and not self.open)
    @rule()
    def reply_ends(self) -> None:
        """The model has said all it wants to: what waits for a yes is read back."""
        self.phase = "idle"
        self.do(self.desk.writes.speak_up())

    @precondition(lambda self: self.phase in ALIVE)
    @rule()
    def cut_in(self) -> None:
        """The caller goes on, or takes the floor."""
        if self.phase == "draft":
            before = list(self.history)
            self.do(self.desk.drop(self.reply))
            assert self.history == before
        else:
            self.do(self.desk.interrupt(self.reply, self.now))
            assert not self.open, "whatever was asked for has an answer"
        self.phase = "idle"

    @precondition(lambda self: self.running)
    @rule(
        data=st.data(),
        outcome=st.sampled_from(["done", "done", "failed", "uncertain"]),
        after=st.sampled_from([0.0, 0.01, 0.5, 2.0]),
    )
    def tool_answers(self, data: st.DataObject, outcome: str, after: float) -> None:
        """A tool comes back, once."""
        self.passes(after)
        if not self.running:
            return
        ask = data.draw(st.sampled_from(sorted(self.running)))
        tool = self.running.pop(ask)
        result = f"result of {ask}"
        if tool.name in WRITES and outcome == "done":
            self.done[tool.key] += 1
            self.results[ask] = result
        event = ToolAnswered(ask, {"value": result}, outcome)  # type: ignore[arg-type]
        if self.phase != "ended":
            self.do(self.desk.answered(event, self.now))

    @rule(seconds=st.sampled_from([0.02, 0.3, 1.0, 4.0]))
    def passes(self, seconds: float) -> None:
        """Time passes; the desk is woken when it wants to be."""
        end = self.now + seconds
        for _ in range(100):
            at = self.desk.deadline
            if self.phase == "ended" or at is None or at > end:
                break
            self.now = max(self.now, at)
            self.do(self.desk.time_passed(self.now))
            assert self.desk.deadline is None or self.desk.deadline > self.now
        else:
            raise AssertionError("the desk never rests")
        self.now = end

    @precondition(lambda self: self.phase != "ended" and self.reply > 3)
    @rule()
    def hang_up(self) -> None:
        """The caller is gone: what they said yes to is done all the same."""
        self.phase = "ended"
        self.do(self.desk.call_ended())
        assert all(tool.name in WRITES for tool in self.running.values())
        assert not self.owed

    # --- what must always hold ------------------------------------------------------------------

    @invariant()
    def every_request_in_the_history_has_its_result_before_the_next_turn(self) -> None:
        asked = [entry.ask for entry in self.history if entry.role == "tool_ask"]
        answered = [entry.ask for entry in self.history if entry.role == "tool_result"]
        assert len(set(asked)) == len(asked)
        assert len(set(answered)) == len(answered)
        if self.phase == "idle":
            assert set(asked) == set(answered)

    @invariant()
    def no_write_is_lost(self) -> None:
        """A write that was done is in the history, when it is not just about to be."""
        if self.phase != "idle":
            return
        told = {str(entry.data.get("value")) for entry in self.history}
        assert set(self.results.values()) <= told

    @invariant()
    def what_was_agreed_begins_as_soon_as_nothing_else_is_at_work(self) -> None:
        at_work = any(tool.name in WRITES for tool in self.running.values())
        assert at_work or not self.owed

    @invariant()
    def nobody_waits_two_seconds_in_silence(self) -> None:
        if self.phase == "ended" or not self.desk.busy:
            self.waiting_since = None
        elif self.waiting_since is None:
            self.waiting_since = self.now
        else:
            assert self.now - max(self.waiting_since, self.silent_since) <= 2.0

    def teardown(self) -> None:
        assert all(count == 1 for count in self.done.values())


World.TestCase.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
TestToolsUnderFire = World.TestCase
