"""A desk with a clock for tests, and its effects in short."""

from __future__ import annotations

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
        event = ToolAnswered(run, result or {"ok": 1}, outcome)  # type: ignore[arg-type]
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
