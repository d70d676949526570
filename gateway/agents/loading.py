"""Reads one agent: its file, the script it refers to, and its tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from zoneinfo import ZoneInfo

from gateway.agents.format import CALL_FIELDS, AgentFile, ToolEntry, mistakes
from gateway.agents.lines import in_language
from gateway.agents.places import placed
from gateway.agents.scripts import scripts_of
from gateway.backends.cascade.models.script.dialogue import CALL_NOTE
from gateway.backends.cascade.models.script.format import Script
from gateway.call.settings import ConversationSettings
from gateway.call.targets import Targets
from gateway.events import CallInfo, Entry
from gateway.plumbing.toml_file import Mistake, TomlError, TomlFile, decode, read
from gateway.ports import ToolSpec
from gateway.tools.builtins import BUILTINS, CALL_TOOLS
from gateway.tools.checking import wrong
from gateway.tools.context import ToolContext
from gateway.tools.endpoints import taken_from_environment
from gateway.tools.http import HttpTool
from gateway.tools.isolated import Home, IsolatedTool, ToolProcess
from gateway.tools.messages import message_tools
from gateway.tools.modules import found, made, module
from gateway.tools.page import PageTool
from gateway.tools.toolbox import Tool
from gateway.tools.wire import Described

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent, as it stood in its files when a call began."""

    name: str
    file: AgentFile
    source: TomlFile
    path: Path
    scripts: Mapping[str, Script] = field(default_factory=dict)
    "by the name their settings refer to them with"
    tools: Mapping[str, Tool] = field(default_factory=dict)
    "what the toolbox runs without asking anyone first; MCP servers add theirs"
    call_tools: tuple[ToolSpec, ...] = ()
    "what the conversation performs itself"
    read: tuple[Path, ...] = ()
    "every file it was made of"

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Every tool the model is told of, in the order of the file."""
        return (*(tool.spec for tool in self.tools.values()), *self.call_tools)

    def with_tools(self, more: Mapping[str, Tool]) -> Agent:
        """Return the same agent with more tools, those of its MCP servers."""
        return replace(self, tools={**self.tools, **more}) if more else self

    def settings(self, kind: type[T], table: Mapping[str, Any], path: str) -> T:
        """Read a part's own settings strictly; raise AgentError with the place of a mistake."""
        try:
            return decode(kind, self.source, table, path)
        except TomlError as error:
            raise placed(self.path, error) from None

    def refuse(self, path: str, said: str) -> NoReturn:
        """Raise AgentError for a mistake that shows only where the agent is put to work."""
        wrong = (Mistake(path, self.source.line(path), said),)
        raise placed(self.path, TomlError(self.source.name, wrong))

    def conversation(self, specs: tuple[ToolSpec, ...] | None = None) -> ConversationSettings:
        """Return what the course of a call is decided by; `specs` where MCP servers added some."""
        habits = self.file.call
        return ConversationSettings(
            instructions=self.file.instructions,
            lines=in_language(self.file.lines, self.file.language, self.source.lines),
            tools=self.specs if specs is None else specs,
            idle_seconds=habits.idle_seconds,
            filler_after=habits.filler_after,
            filler_for_model=habits.filler_for_model,
            reply_seconds=habits.reply_seconds,
            call_seconds=habits.call_seconds,
            drafts=habits.drafts,
            yes_key=habits.yes_key,
            no_key=habits.no_key,
            fallbacks=self.file.fallbacks,
            transfers=_targets(self.file),
            language=self.file.language,
            profile=self.file.turns.profile,
            expecting={str(k): str(v) for k, v in self.file.turns.expecting.items()},
        )

    def variables(self, call: CallInfo) -> dict[str, str]:
        """Return the variables of a call by the names the file gives them; unknown ones are left
        out."""
        found = {}
        for name, source in self.file.variables.items():
            own = source in CALL_FIELDS
            value = getattr(call, source) if own else call.variables.get(source, "")
            if value not in ("", None):
                found[name] = str(value)
        return found

    def note(self, call: CallInfo) -> Entry | None:
        """Return the note that tells the model of the variables, first in the history, so that the
        instructions before it are the same in every call."""
        found = self.variables(call)
        if not found:
            return None
        text = "About this call: " + "; ".join(f"{k} is {v}" for k, v in found.items()) + "."
        return Entry("note", text, name=CALL_NOTE, data=found)

    def context(self, call: CallInfo, began: datetime) -> ToolContext:
        """Return what the tools of a call are told; `began` has a time zone."""
        hours = self.file.hours
        local = began.astimezone(ZoneInfo(hours.timezone))
        return ToolContext(call, local, hours, self.variables(call))


def load(path: Path) -> Agent:
    """Read an agent; raise AgentError with everything that is wrong."""
    try:
        source = read(path)
        file = decode(AgentFile, source)
        _refuse(source, mistakes(file))
    except TomlError as error:
        raise placed(path, error) from None
    scripts, files = scripts_of(path, file, source)
    tools, modules = _tools(path, file, source)
    return Agent(
        path.stem,
        file,
        source,
        path,
        scripts,
        tools,
        tuple(_call_tools(file)),
        (path, *files, *modules),
    )


def _refuse(source: TomlFile, found: Iterator[tuple[str, str]]) -> None:
    wrong = [Mistake(path, source.line(path), said) for path, said in found]
    if wrong:
        raise TomlError(source.name, wrong)


def _tools(path: Path, file: AgentFile, source: TomlFile) -> tuple[dict[str, Tool], list[Path]]:
    """Make the tools that need no connection."""
    tools: dict[str, Tool] = {}
    modules: list[Path] = []
    homes = _Homes(path.parent, file.tools)
    for at, entry in enumerate(file.tools):
        try:
            tool = _tool(path.parent, entry, homes)
            spec = next(_call_tools(file, entry), None) if tool is None else tool.spec
            if spec is not None:
                _check(spec, file, tools, source, at)
            if entry.python:
                own = path.parent / entry.python.partition(":")[0]
                modules += [own] if own.suffix == ".py" and own not in modules else []
            if tool is not None:
                tools[tool.spec.name] = tool
        except TomlError as error:
            raise placed(path, error) from None
        except ValueError as error:
            where = f"tools[{at}]"
            found = (Mistake(where, source.line(where), str(error)),)
            raise placed(path, TomlError(source.name, found)) from None
    return tools, modules


def _tool(folder: Path, entry: ToolEntry, homes: _Homes) -> Tool | None:
    """Make a tool that needs no connection and does not act on the call itself."""
    if entry.python:
        return _python(folder, entry, homes)
    if entry.builtin and entry.builtin not in CALL_TOOLS:
        stored = message_tools()[entry.builtin]
        return replace(stored, spec=as_wished(stored.spec, entry))
    if entry.http is not None:
        spec = ToolSpec(entry.name, "", entry.http.parameters)
        return HttpTool(as_wished(spec, entry), entry.http, entry.retries)
    if entry.page is not None:
        # What is seen on a page is done, as far as anybody knows: never on a guess.
        spec = ToolSpec(entry.name, "", entry.page.parameters, "write")
        return PageTool(as_wished(spec, entry))
    return None


def _check(
    spec: ToolSpec, file: AgentFile, others: Mapping[str, Tool], source: TomlFile, at: int
) -> None:
    """Raise TomlError for what is wrong with a tool."""
    where = f"tools[{at}]"
    found = [
        (f"{where}.{setting}" if f"{where}.{setting}" in source.lines else where, said)
        for setting, said in wrong(spec, file.language)
    ]
    if spec.name in others:
        found.append((where, f'there is another tool named "{spec.name}"'))
    _refuse(source, iter(found))


def _call_tools(file: AgentFile, *entries: ToolEntry) -> Iterator[ToolSpec]:
    for entry in entries or file.tools:
        if entry.builtin not in CALL_TOOLS:
            continue
        spec = as_wished(BUILTINS[entry.builtin], entry)
        if entry.builtin == "transfer":
            spec = _with_targets(spec, file)
        yield spec


def _with_targets(spec: ToolSpec, file: AgentFile) -> ToolSpec:
    """Let the model choose among the names of the targets, and the numbers of their patterns."""
    targets = _targets(file)
    said = "; ".join(
        f"{t.pattern or n}: {t.description}" for n, t in file.transfers.items() if t.description
    )
    target: dict[str, object] = {"type": "string", "description": said}
    if targets.patterns:
        target["description"] = f"One of {targets.said()}. {said}".strip()
    else:
        target["enum"] = sorted(targets.names)
    properties = {**spec.parameters["properties"], "target": target}
    return replace(spec, parameters={**spec.parameters, "properties": properties})


def _targets(file: AgentFile) -> Targets:
    return Targets(
        {name: each.to for name, each in file.transfers.items() if each.to},
        tuple(each.pattern for each in file.transfers.values() if each.pattern),
    )


def as_wished(spec: ToolSpec, entry: ToolEntry) -> ToolSpec:
    """Change a specification by what the agent's file says otherwise."""
    return replace(
        spec,
        description=spec.description if entry.description is None else entry.description,
        effect=spec.effect if entry.effect is None else entry.effect,
        timeout=spec.timeout if entry.timeout is None else entry.timeout,
        filler=spec.filler if entry.filler is None else entry.filler,
        confirm=spec.confirm if entry.confirm is None else entry.confirm,
        say=spec.say if entry.say is None else entry.say,
    )


def _python(folder: Path, entry: ToolEntry, homes: _Homes) -> Tool:
    """Find a function; raise ValueError in words for the operator."""
    where, colon, name = entry.python.partition(":")
    if not colon:
        raise ValueError(f'python must be like "module:function", found "{entry.python}"')
    if entry.isolated:
        return homes.tool(entry)
    where = str(folder / where) if where.endswith(".py") else where
    tool = made(where, found(where, module(where), name), entry.name)
    return replace(tool, spec=as_wished(tool.spec, entry))


class _Homes:
    """The processes of an agent's isolated functions: one for a file, and for what it may know."""

    def __init__(self, folder: Path, entries: Sequence[ToolEntry]) -> None:
        self._folder = folder
        self._wanted: dict[tuple[str, ...], list[str]] = {}
        for entry in entries:
            if entry.isolated:
                name = entry.python.partition(":")[2]
                self._wanted.setdefault(self._key(entry), []).append(name)
        self._asked: dict[tuple[str, ...], tuple[ToolProcess, dict[str, Described]]] = {}

    def tool(self, entry: ToolEntry) -> IsolatedTool:
        """Make a tool of a function; raise ValueError in words for the operator."""
        where, _, name = entry.python.partition(":")
        key = self._key(entry)
        if key not in self._asked:
            where = str(self._folder / where) if where.endswith(".py") else where
            home = Home(where, self._folder, taken_from_environment(entry.environment))
            self._asked[key] = ToolProcess(home), home.describe(self._wanted[key])
        process, described = self._asked[key]
        told = described[name]
        if told.spec is None:
            raise ValueError(told.wrong)
        spec = replace(told.spec, name=entry.name or told.spec.name)
        return IsolatedTool(as_wished(spec, entry), name, process)

    def _key(self, entry: ToolEntry) -> tuple[str, ...]:
        return (entry.python.partition(":")[0], *sorted(entry.environment))
