"""The agents at work: each file made ready once, with its backends, its voice and its tools."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
import structlog

from gateway.agents.format import BackendChoice
from gateway.agents.library import AgentLibrary, shipped
from gateway.agents.loading import Agent
from gateway.agents.places import AgentError, error_of
from gateway.agents.scripts import ScriptedSettings
from gateway.agents.servers import ToolServers
from gateway.backends.cascade.cascade import Cascade, CascadeSettings
from gateway.backends.cascade.choices.race import Table
from gateway.backends.cascade.models.scripted import Pace, ScriptedModel
from gateway.backends.cascade.parts import PartMaker
from gateway.backends.cascade.ports import LanguageModel
from gateway.backends.cascade.recognisers.moonshine import Moonshine
from gateway.backends.cascade.voices.local import LocalLines, LocalVoice
from gateway.backends.listening import Listening
from gateway.backends.speech_models import KINDS, with_key
from gateway.config import DefaultTurnSettings, Settings
from gateway.events import CallInfo
from gateway.lines.table import LINES
from gateway.ports import Backend, Page
from gateway.process.reading import Reading
from gateway.process.ready_agent import ReadyAgent
from gateway.tools.store import Store
from gateway.tools.toolbox import CallTools, Toolbox
from inference.runtime import Runtime
from media import private
from turn.profile import Profile, profile
from turn.taking import TurnSettings

log = structlog.get_logger("crew")

WARM_UP = "Good morning, this is a test of one, two, three words."

PHONE_RATE = 8000
"""Rate at which fixed lines are rendered before the first call: most callers come by telephone."""


class AgentRoster:
    """Implements `Staff`: knows the agents and keeps what is made of their files."""

    def __init__(
        self, settings: Settings, runtime: Runtime, reload: asyncio.Event | None = None
    ) -> None:
        """`reload` asks for a look at the agents' files at once."""
        self._settings = settings
        self._library = AgentLibrary(settings.agents.folder, shipped(), report=_say_broken)
        self._servers = ToolServers()
        self._group: asyncio.TaskGroup | None = None
        self._runtime = runtime
        self._moonshine = Moonshine(runtime)
        self._voice = LocalVoice(runtime)
        self._lines = LocalLines(self._voice)
        self._ready: dict[str, tuple[Agent, ReadyAgent]] = {}
        "as their files were when they were last in order"
        self._coming: dict[str, Agent] = {}
        "the newest of each, whose servers' tools are waited for or were added"
        self._refused: dict[str, AgentError] = {}
        "what is wrong with those that could be read and not be made ready"
        self._reading = Reading(self._library, self._read, reload or asyncio.Event())
        self._boxes: list[Toolbox] = []

    async def prepare(self) -> None:
        """Load the models and render every agent's fixed lines, so that no caller waits for it."""
        await self._warm()
        await self._reading.look()
        default = self._settings.agents.default
        if default not in self._ready:
            raise self._refused.get(default) or self._library.problem(default)
        for _, engaged in tuple(self._ready.values()):
            for line in engaged.conversation.lines.all():
                for rate in self._rates():
                    await self._lines.render(line, rate)

    def _rates(self) -> tuple[int, ...]:
        """Return the rates at which callers will want fixed lines at once."""
        rates = dict.fromkeys((PHONE_RATE,))
        for name, kind in LINES.items():
            chosen = self._settings.lines[name]
            if not kind.off(chosen):
                rates |= dict.fromkeys(kind.rates(chosen))
        return tuple(rates)

    async def _warm(self) -> None:
        """Use voice and recogniser once: the first use of a model takes up to a second longer."""
        self._moonshine.load()
        self._voice.load()
        async for spoken in self._voice.speak(_words(WARM_UP), PHONE_RATE):
            sound = np.frombuffer(spoken.pcm, "<i2")
            await self._runtime.run(partial(self._moonshine.write, sound, PHONE_RATE))

    async def run(self, ready: asyncio.Event) -> None:
        """Keep agents as their files are, and their tool servers connected, until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                group.create_task(self._servers.run())
                await asyncio.sleep(0)
                for name, (agent, _) in tuple(self._ready.items()):
                    await self._complete(name, agent)
                ready.set()
                await self._reading.run()
        finally:
            self._group = None
            for box in self._boxes:
                await box.close()

    def names(self) -> tuple[str, ...]:
        """List the agents there are."""
        return tuple(sorted(self._ready))

    def knows(self, agent: str) -> bool:
        """Return whether there is an agent of this name; empty is the default one.

        One whose file has never been in order answers nobody.
        """
        return (agent or self._settings.agents.default) in self._ready

    def engage(self, agent: str) -> ReadyAgent:
        """Return the agent as its files were at the last look, or as they last were in order."""
        return self._ready[agent or self._settings.agents.default][1]

    def _read(self, name: str, agent: Agent | None) -> None:
        """Take an agent as its files are by now; None: they are gone."""
        if agent is None:
            self._ready.pop(name, None)
            self._coming.pop(name, None)
            return
        if self._coming.get(name) is agent:
            return
        try:
            made = self.make(agent)
        except BaseException as raised:  # fence: one that was in order goes on answering as it was
            error = self._refused[name] = error_of(agent.path, raised)
            _say_broken(error)
            return
        self._coming[name] = agent
        if self._group is None or not agent.file.servers:
            self._ready[name] = (agent, made)
        else:  # it has its servers' tools from its first call, or after a bounded wait
            self._group.create_task(self._complete(name, agent))

    async def _complete(self, name: str, agent: Agent) -> None:
        """Add the tools of an agent's servers; one that comes later gives them when it does."""
        if not agent.file.servers:
            return
        there, missing = await self._servers.those_there(agent)
        self._completed(name, agent, there)
        for server, error in missing.items():
            _say_broken(error)
            if self._group is not None:
                self._group.create_task(self._complete_late(name, agent, server))

    async def _complete_late(self, name: str, agent: Agent, server: str) -> None:
        await self._servers.come(agent, server)
        there, _ = await self._servers.those_there(agent, seconds=0.0)
        self._completed(name, agent, there)

    def _completed(self, name: str, agent: Agent, whole: Agent) -> None:
        """Let calls have an agent with its servers' tools, unless its files changed meanwhile."""
        if self._coming.get(name) is agent:
            self._ready[name] = (agent, self.make(whole))

    def make(self, agent: Agent) -> ReadyAgent:
        """Make everything of an agent that calls need; raise AgentError where that cannot be."""
        makers = {"": self._backend(agent, agent.file.backend, "backend")}
        for name, choice in agent.file.backends.items():
            makers[name] = self._backend(agent, choice, f"backends.{name}")
        toolbox = Toolbox(agent.tools, Store(self._store(agent)))
        self._boxes.append(toolbox)

        def tools(call: CallInfo, page: Page | None) -> CallTools:
            context = agent.context(call, datetime.now(UTC))
            return toolbox.open(replace(context, page=page))

        return ReadyAgent(
            conversation=agent.conversation(),
            turns=turn_settings(self._settings.turn, agent),
            backend=lambda name: makers[name](),
            tools=tools,
            lines=self._lines,
            note=agent.note,
            hints=agent.file.hints,
        )

    def _store(self, agent: Agent) -> Path:
        folder = self._settings.agents.data
        private.make_folder(folder)
        return folder / (agent.file.store or f"{agent.name}.sqlite")

    # --- backends --------------------------------------------------------------------------------

    def _backend(self, agent: Agent, choice: BackendChoice, path: str) -> Callable[[], Backend]:
        """Return what makes a backend for each call."""
        match choice.kind:
            case "cascade":
                return self._cascade(agent, choice, path)
            case _:
                return self._speech_model(agent, choice, path)

    def _speech_model(
        self, agent: Agent, choice: BackendChoice, path: str
    ) -> Callable[[], Backend]:
        kind = KINDS[choice.kind]
        options = agent.settings(kind.settings, choice.options, f"{path}.options")
        settings = with_key(options, os.environ)
        if not choice.listen:
            return lambda: kind.make(settings)
        return lambda: Listening(kind.make(settings), self._moonshine)

    def _cascade(self, agent: Agent, choice: BackendChoice, path: str) -> Callable[[], Backend]:
        parts = PartMaker(
            agent, os.environ, self._moonshine, self._voice, lambda *at: self._scripted(agent, *at)
        )
        recogniser = parts.recogniser(choice.recogniser, f"{path}.recogniser")
        model = parts.model(choice.model, f"{path}.model")
        voice = parts.voice(choice.voice, f"{path}.voice")
        options = agent.settings(CascadeSettings, choice.options, f"{path}.options")
        return lambda: Cascade(recogniser, model, voice, options)

    def _scripted(self, agent: Agent, table: Table, path: str) -> LanguageModel:
        chosen = agent.settings(ScriptedSettings, table, path)
        pace = Pace(chosen.first_token, chosen.tokens_per_second)
        return ScriptedModel(agent.scripts[chosen.script], pace, agent.file.language)


async def _words(text: str) -> AsyncIterator[str]:
    yield text


def _say_broken(error: AgentError) -> None:
    log.error("agent_broken", file=str(error.file), mistakes=str(error))


def turn_settings(default: DefaultTurnSettings, agent: Agent) -> TurnSettings:
    """Join the operator's and the agent's wishes about patience."""
    if default.silence is not None:
        return TurnSettings(Profile.silence(default.silence), agent.file.language)
    return TurnSettings(profile(agent.file.turns.profile), agent.file.language)
