"""A call in text: an agent's model, its real tools and the desk that runs them, without sound.

What the agent says is heard at once, unless it is said how many words of it were.
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
from gateway.backends.cascade.ports import (
    Expectation,
    LanguageModel,
    ModelRequest,
    TextDelta,
    ToolDelta,
)
from gateway.call.tools.desk import ToolDesk
from gateway.call.tools.wants import (
    Answer,
    DeskEffect,
    DeskRules,
    GoOn,
    Judged,
    Perform,
    Remember,
    SayProposal,
)
from gateway.events import CallInfo, CancelTool, Entry, Json, RunTool, ToolAnswered, ToolAsked
from gateway.ports import ToolSpec
from gateway.tools.store import Store
from gateway.tools.toolbox import Toolbox

TUESDAY = datetime(2025, 12, 2, 10, 0, tzinfo=ZoneInfo("America/Los_Angeles"))
"""A day in the middle of a week: two days on, the workshop is open."""

ROUNDS = 8
"""How often a model may ask for tools within one answer before it is told nothing more."""


def scripted(agent: Agent) -> LanguageModel:
    """Return the model of an agent that follows a script; raise ValueError where it has none."""
    if len(agent.scripts) != 1:
        raise ValueError(f"{agent.name} does not follow one script")
    (script,) = agent.scripts.values()
    return ScriptedModel(script, language=agent.file.language)


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
        model: LanguageModel | None = None,
    ) -> None:
        """Begin a call; `model` answers in the place of the agent's script."""
        self.agent = agent
        info = CallInfo("call-1", "test", agent.name, caller, variables=dict(variables or {}))
        self.model = model or scripted(agent)
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
        self.said: list[str] = []
        "what the agent said since the caller spoke, piece by piece"
        self._now = 100.0
        self._reply = 0

    @property
    def names(self) -> list[str]:
        """The tools that were used, in order."""
        return [each.name for each in self.used]

    def says(self, text: str, heard: int | None = None) -> str:
        """Let the caller speak, having heard only so many words of what was said last."""
        return asyncio.run(self.answer(text, heard))

    async def answer(self, text: str, heard: int | None = None) -> str:
        """Do the same within a loop."""
        if heard is not None:
            self._cut(heard)
        asked = self._proposal_heard()
        self.history.append(Entry("caller", text))
        self._reply += 1
        return await self._take(text, asked)

    def drafts(self, text: str) -> str:
        """Draft a reply to what the caller may have said, with its reads, and throw it away."""
        self._reply += 1
        return asyncio.run(self._draft(text))

    async def _draft(self, text: str) -> str:
        base = [*self.history, Entry("caller", text)]
        said, asks = await self._think(base)
        for ask in asks:
            event = ToolAsked(self._reply, ask.ask, ask.name, ask.arguments)
            for effect in self.desk.ask(event, self._spec(ask.name), draft=True, now=self._now):
                assert isinstance(effect, RunTool)
                answered = await self.toolbox.run(effect)
                self.desk.answered(answered, self._now + 1)
        more, _ = await self._think([*base, *self.desk.entries(self._reply)])
        self.desk.drop(self._reply)
        return f"{said} {more}".strip()

    async def _take(self, text: str, heard: bool) -> str:
        """Judge an answer to a proposal as the gateway does; else let the model answer."""
        self.said = []
        if self.desk.writes.open is not None:
            effects = self.desk.answer(text, self._now, heard=heard)
            judged = [each.verdict for each in effects if isinstance(each, Judged)]
            going_on = await self._perform(effects)
            if judged == ["again"] or (judged == ["agreed"] and not going_on):
                return " ".join(self.said)
        await self._answer()
        return " ".join(self.said)

    async def _answer(self) -> None:
        going_on, rounds = True, 0
        while going_on and rounds < ROUNDS:
            rounds += 1
            text, asks = await self._think(self.history)
            if text:
                self._say(text)
            going_on = bool(asks) and await self._tools(asks)
        await self._perform(self.desk.writes.speak_up())

    def _say(self, text: str) -> None:
        self.said.append(text)
        self.history.append(Entry("agent", text))

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

    async def _tools(self, asks: list[ToolDelta]) -> bool:
        """Use tools by the desk's rules; say whether the model is to go on."""
        effects: list[DeskEffect] = []
        for ask in asks:
            event = ToolAsked(self._reply, ask.ask, ask.name, ask.arguments)
            spec = self._spec(ask.name)
            effects += self.desk.ask(event, spec, draft=False, now=self._now)
        return await self._perform(effects, waiting=True)

    async def _perform(self, effects: list[DeskEffect], *, waiting: bool = False) -> bool:
        """Do what the desk wants done; say whether the model is to go on."""
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
                    done = ToolAnswered(effect.run, {"status": "ok"}, "done")
                    self.used.append(Used(effect.name, effect.arguments, "done", {}))
                    effects += self.desk.answered(done, self._now)
                case Answer():
                    going_on = going_on or effect.proceed
                    waiting = waiting and not (effect.proceed or effect.ends)
                case GoOn():
                    going_on = True
                case SayProposal(text=text):
                    self._say(text)
                case CancelTool() | _:
                    pass
            if not effects and waiting:
                effects += self.desk.time_passed(self._now + 0.1)
        return going_on and not self.ended

    async def _run(self, effect: RunTool) -> ToolAnswered:
        broken = self.broken.get(effect.name)
        if broken is not None:
            answered = ToolAnswered(effect.ask, broken, "failed")
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

    def _proposal_heard(self) -> bool:
        last, made = self.history[-1], self.desk.writes.open
        if last.role != "agent" or last.interrupted or made is None:
            return False
        return last.text.endswith(made.text)
