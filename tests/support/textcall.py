"""A call in text: an agent's scripted model and its real tools, without sound.

What the agent says is heard at once, unless a test says how many words of it were.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from gateway.agents.loading import Agent
from gateway.backends.cascade.models.scripted import ScriptedModel
from gateway.backends.cascade.ports import Expectation, ModelRequest, TextDelta, ToolDelta
from gateway.call.tools.desk import (
    Answer,
    CallerTurn,
    DeskEffect,
    DeskRules,
    Perform,
    Remember,
    ToolDesk,
)
from gateway.events import CallInfo, CancelTool, Entry, Json, RunTool, ToolAnswered, ToolAsked
from gateway.ports import ToolSpec
from gateway.tools.store import Store
from gateway.tools.toolbox import Toolbox

TUESDAY = datetime(2025, 12, 2, 10, 0, tzinfo=ZoneInfo("America/Los_Angeles"))
"""A day in the middle of a week: two days on, the workshop is open."""


@dataclass(frozen=True, slots=True)
class Used:
    """A tool that was used."""

    name: str
    arguments: Json
    outcome: str
    result: Json


class TextCall:
    """One call; `says` is a turn of the caller and gives what the agent answers."""

    def __init__(
        self,
        agent: Agent,
        folder: Path,
        *,
        caller: str = "",
        variables: Mapping[str, str] | None = None,
        began: datetime = TUESDAY,
        broken: Mapping[str, Json] | None = None,
    ) -> None:
        self.agent = agent
        info = CallInfo("call-1", "test", agent.name, caller, variables=dict(variables or {}))
        (script,) = agent.scripts.values()
        self.model = ScriptedModel(script)
        self.store = Store(folder / "tools.sqlite")
        self.toolbox = Toolbox(agent.tools, self.store).open(agent.context(info, began))
        self.desk = ToolDesk(DeskRules("call-1"))
        note = agent.note(info)
        self.history: list[Entry] = [] if note is None else [note]
        self.history.append(Entry("agent", agent.file.lines.greeting))
        self.used: list[Used] = []
        self.expects = ""
        self.ended = False
        self.broken = dict(broken or {})
        "answers given in place of a tool's own"
        self.requests: list[ModelRequest] = []
        self._now = 100.0
        self._reply = 0

    @property
    def names(self) -> list[str]:
        """The tools that were used, in order."""
        return [each.name for each in self.used]

    def says(self, text: str, heard: int | None = None) -> str:
        """Let the caller speak, having heard only so many words of what was said last."""
        if heard is not None:
            self._cut(heard)
        question = self._question_heard()
        self.history.append(Entry("caller", text))
        self._reply += 1
        return asyncio.run(self._answer(CallerTurn(text, question)))

    def drafts(self, text: str) -> str:
        """Draft a reply to what the caller may have said, with its reads, and throw it away."""
        self._reply += 1
        return asyncio.run(self._draft(text))

    async def _draft(self, text: str) -> str:
        base = [*self.history, Entry("caller", text)]
        said, asks = await self._think(base)
        for ask in asks:
            event = ToolAsked(self._reply, ask.ask, ask.name, ask.arguments)
            for effect in self.desk.ask(event, self._spec(ask.name), None, self._now):
                assert isinstance(effect, RunTool)
                answered = await self.toolbox.run(effect)
                self.desk.answered(answered, self._now + 1)
        more, _ = await self._think([*base, *self.desk.entries(self._reply)])
        self.desk.drop(self._reply)
        return f"{said} {more}".strip()

    async def _answer(self, caller: CallerTurn) -> str:
        said: list[str] = []
        while True:
            text, asks = await self._think(self.history)
            if text:
                said.append(text)
                self.history.append(Entry("agent", text))
            if not asks or not await self._tools(asks, caller):
                return " ".join(said)

    async def _think(self, history: list[Entry]) -> tuple[str, list[ToolDelta]]:
        request = ModelRequest(
            "call-1",
            self.agent.file.instructions,
            tuple(history),
            self.agent.specs,
        )
        self.requests.append(request)
        text, asks = "", []
        self.expects = ""
        async for event in self.model.stream(request):
            match event:
                case TextDelta(text=piece):
                    text += piece
                case ToolDelta():
                    asks.append(event)
                case Expectation(expects=expects):
                    self.expects = expects
                case _:
                    pass
        return text, asks

    async def _tools(self, asks: list[ToolDelta], caller: CallerTurn) -> bool:
        """Use tools by the desk's rules; say whether the model is to go on."""
        effects: list[DeskEffect] = []
        for ask in asks:
            event = ToolAsked(self._reply, ask.ask, ask.name, ask.arguments)
            effects += self.desk.ask(event, self._spec(ask.name), caller, self._now)
        going_on = False
        while effects:
            effect = effects.pop(0)
            self._now += 0.1
            match effect:
                case Remember(entry=entry):
                    self.history.append(entry)
                case RunTool():
                    effects += self.desk.answered(await self._run(effect), self._now)
                case Perform():
                    self.ended = self.ended or effect.name == "hang_up"
                    done = ToolAnswered(effect.ask, {"status": "ok"}, "done", 0.0)
                    self.used.append(Used(effect.name, effect.arguments, "done", {}))
                    effects += self.desk.answered(done, self._now)
                case Answer():
                    going_on = going_on or effect.proceed
                case CancelTool() | _:
                    pass
            if not effects and not going_on:
                effects += self.desk.time_passed(self._now + 0.1)
        return going_on and not self.ended

    async def _run(self, effect: RunTool) -> ToolAnswered:
        broken = self.broken.get(effect.name)
        if broken is not None:
            answered = ToolAnswered(effect.ask, broken, "failed", 0.1)
        else:
            answered = await self.toolbox.run(effect)
        self.used.append(Used(effect.name, effect.arguments, answered.outcome, answered.result))
        return answered

    def _spec(self, name: str) -> ToolSpec | None:
        return next((spec for spec in self.agent.specs if spec.name == name), None)

    def _cut(self, words: int) -> None:
        """Leave only so many words of everything the agent said since the caller spoke."""
        last = max(n for n, entry in enumerate(self.history) if entry.role in ("caller",))
        for at in range(len(self.history) - 1, last, -1):
            entry = self.history[at]
            if entry.role != "agent":
                continue
            before = sum(
                len(other.text.split()) for other in self.history[last:at] if other.role == "agent"
            )
            kept = entry.text.split()[: max(0, words - before)]
            if kept:
                cut = len(kept) < len(entry.text.split())
                self.history[at] = replace(entry, text=" ".join(kept), interrupted=cut)
            else:
                del self.history[at]

    def _question_heard(self) -> bool:
        last = self.history[-1]
        return last.role == "agent" and not last.interrupted and last.text.endswith("?")
