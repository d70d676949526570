"""What may stand in an agent's file, and what must hold between its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from msgspec import Meta

from gateway.call.conversation.recovery import MESSAGE, RETRY, TRANSFER
from gateway.call.settings import FixedLines
from gateway.doors.callees import check_pattern, plain
from gateway.tools.builtins import BUILTINS
from gateway.tools.endpoints import HttpEndpoint, McpServer
from gateway.tools.hours import OpeningHours

Seconds = Annotated[float, Meta(ge=0)]
Key = Annotated[str, Meta(pattern="^[0-9A-D*#]$")]
Expected = Literal["yes_no", "name", "digits", "spelling", "open"]

CALL_FIELDS = ("caller", "callee", "line", "direction")
"""What of the call itself may be a variable; every other source is a header or a parameter."""


@dataclass(frozen=True, slots=True)
class BackendChoice:
    """Who answers: a speech-to-speech model, or a cascade of three parts."""

    kind: Literal["cascade", "realtime", "live", "nova", "gemini", "bridge"] = "cascade"
    model: Mapping[str, Any] = field(default_factory=lambda: {"kind": "scripted"})
    "a table with `kind` and that kind's own settings; so are the other two"
    recogniser: Mapping[str, Any] = field(default_factory=lambda: {"kind": "moonshine"})
    voice: Mapping[str, Any] = field(default_factory=lambda: {"kind": "hibari"})
    options: Mapping[str, Any] = field(default_factory=dict)
    "limits of a cascade, or all settings of a backend that is one piece, by its `kind`"
    listen: Literal["", "moonshine"] = ""
    """a recogniser beside a backend that is one piece, so that turn-taking has words to judge by;
    empty: it judges by sound alone"""

    def __post_init__(self) -> None:
        if self.listen and self.kind == "cascade":
            raise ValueError("listen is for speech-to-speech models; a cascade listens anyway")
        for name in ("model", "recogniser", "voice"):
            if not isinstance(getattr(self, name).get("kind"), str):
                raise ValueError(f"{name} must be a table with a kind")


@dataclass(frozen=True, slots=True)
class TurnHabits:
    """How patiently callers are listened to."""

    profile: Literal["quick", "default", "patient", "digits"] = "default"
    expecting: Mapping[Expected, Literal["quick", "default", "patient", "digits"]] = field(
        default_factory=lambda: {"spelling": "digits", "digits": "digits", "yes_no": "quick"}
    )
    "the profile while something of this kind is asked for, where the model names none"


@dataclass(frozen=True, slots=True)
class CallHabits:
    """Times and limits of a call; see the fields of the same names in the call's settings."""

    idle_seconds: Seconds = 8.0
    filler_after: Seconds = 1.0
    filler_for_model: bool = False
    reply_seconds: Seconds = 10.0
    call_seconds: Seconds = 3600.0
    "the longest a call may last"
    drafts: bool = True
    "begin an answer when the caller is probably done; it waits until they are"
    yes_key: Key = "1"
    "the key that says yes where something is to be confirmed"
    no_key: Key = "2"
    "the key that says no"

    def __post_init__(self) -> None:
        if self.yes_key == self.no_key:
            raise ValueError("yes_key and no_key are the same key")


@dataclass(frozen=True, slots=True)
class PageFunction:
    """A tool that the page does which the caller is on."""

    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    "JSON schema of the arguments"


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """One thing the agent can do: exactly one of python, http, mcp, page and builtin."""

    name: str = ""
    "what the model calls it; of an MCP server: the one tool that is meant, else all of them"
    python: str = ""
    "`package.module:function`, or `file.py:function` beside the agent's file"
    isolated: bool = False
    """a Python function runs in a process of its own, one for all functions of its file: nothing
    that it does to the interpreter or the process is felt by a call"""
    environment: tuple[str, ...] = ()
    "names of variables that the process of an isolated function is given, besides the few every \
program needs"
    http: HttpEndpoint | None = None
    page: PageFunction | None = None
    "a function of the page that the caller is on"
    mcp: str = ""
    "the name of a server under `servers`"
    builtin: str = ""
    "something the gateway can do itself, such as `hang_up` and `transfer`"
    description: str | None = None
    "what the model is told of it; empty: what the function or the server says"
    effect: Literal["read", "write"] | None = None
    "whether it changes something; a `write` is done once, in order, and never for a draft"
    timeout: Annotated[float, Meta(gt=0, le=600)] | None = None
    "seconds"
    filler: str | None = None
    "said while it takes long, in place of the line of that name"
    confirm: bool | None = None
    "needs the caller's explicit yes"
    say: str | None = None
    "what the caller is asked before it is done, made of its arguments: `Shall I book {day}?`"
    retries: Annotated[int, Meta(ge=0, le=5)] = 0
    "how often a read over the network is tried again"

    def __post_init__(self) -> None:
        page = self.page is not None
        if sum(map(bool, (self.python, self.http, self.mcp, page, self.builtin))) != 1:
            raise ValueError("a tool has exactly one of python, http, mcp, page and builtin")
        if page and not self.name:
            raise ValueError("name is missing")
        if self.isolated and not self.python:
            raise ValueError("isolated is for python tools")
        if self.environment and not self.isolated:
            raise ValueError("environment is for isolated tools; others see all of the gateway's")
        if self.http is not None and not self.name:
            raise ValueError("name is missing")
        if self.confirm and self.effect == "read":
            raise ValueError("confirm is for writes; a read needs nobody's yes")


@dataclass(frozen=True, slots=True)
class TransferTarget:
    """Where callers can be put through to: exactly one of `to` and `pattern`."""

    to: str = ""
    "a number or a SIP address, which the model calls by this entry's name"
    pattern: str = ""
    "numbers that the model may name, as in `+4930123*`, or addresses, `sip:1??@pbx.example.com`"
    description: str = ""
    "for the model: who that is"

    def __post_init__(self) -> None:
        if bool(self.to) == bool(self.pattern):
            raise ValueError("a transfer has exactly one of to and pattern")
        if self.pattern:
            check_pattern(self.pattern)
        else:
            plain(self.to)


@dataclass(frozen=True, slots=True)
class AgentFile:
    """The whole file."""

    instructions: str = ""
    "what a large model is told; the same text in every call, so that its prefix is cached"
    language: str = "en"
    "what is spoken, by its two letters: lines, word lists and recognisers follow"
    hints: tuple[str, ...] = ()
    "words that callers are likely to say, for the recogniser"
    lines: FixedLines = field(default_factory=FixedLines)
    backend: BackendChoice = field(default_factory=BackendChoice)
    backends: Mapping[str, BackendChoice] = field(default_factory=dict)
    "others, for `fallbacks`"
    fallbacks: tuple[str, ...] = ()
    """what is tried in order when the present backend is lost: names under `backends`, `retry` to
    open it once more, `transfer:NAME` for a target under `transfers`, `message` to say sorry and
    goodbye, as is done after the last"""
    turns: TurnHabits = field(default_factory=TurnHabits)
    call: CallHabits = field(default_factory=CallHabits)
    tools: tuple[ToolEntry, ...] = ()
    servers: Mapping[str, McpServer] = field(default_factory=dict)
    transfers: Mapping[str, TransferTarget] = field(default_factory=dict)
    hours: OpeningHours = field(default_factory=OpeningHours)
    variables: Mapping[str, str] = field(default_factory=dict)
    "names, with the header, parameter or call field (`caller`, `callee`, ...) each comes from"
    store: str = ""
    "the SQLite file of its tools; empty: named after the agent"


def mistakes(agent: AgentFile) -> Iterator[tuple[str, str]]:
    """Find what is wrong between the parts of a file: paths, and what is to be said."""
    yield from _fallback_mistakes(agent)
    for name in agent.variables:
        if f"{{{name}}}" in agent.instructions:
            yield (
                "instructions",
                f"{{{name}}} differs from call to call and must stay out of the instructions; "
                "the model is given all variables in a note after them",
            )
    seen: set[str] = set()
    for at, tool in enumerate(agent.tools):
        yield from _tool_mistakes(agent, tool, f"tools[{at}]")
        name = tool.name or tool.builtin
        if name and name in seen:
            yield f"tools[{at}]", f'there is another tool named "{name}"'
        seen.add(name)


def _fallback_mistakes(agent: AgentFile) -> Iterator[tuple[str, str]]:
    for name in {RETRY, MESSAGE} & agent.backends.keys():
        yield f"backends.{name}", f'"{name}" means something else in fallbacks; choose another name'
    for at, step in enumerate(agent.fallbacks):
        target = step.removeprefix(TRANSFER)
        if step.startswith(TRANSFER):
            named = {name: one for name, one in agent.transfers.items() if one.to}
            if target not in named:
                there = _list(named)
                yield "fallbacks", f'there is no "{target}" under transfers{there}'
        elif step == MESSAGE:
            if at + 1 < len(agent.fallbacks):
                yield "fallbacks", f'nothing comes after "{MESSAGE}": it ends the call'
        elif step != RETRY and step not in agent.backends:
            yield "fallbacks", f'there is no "{step}" under backends{_list(agent.backends)}'


def _tool_mistakes(agent: AgentFile, tool: ToolEntry, path: str) -> Iterator[tuple[str, str]]:
    if tool.builtin and tool.builtin not in BUILTINS:
        yield f"{path}.builtin", f'there is no built-in "{tool.builtin}"{_list(BUILTINS)}'
    if tool.builtin == "transfer" and not agent.transfers:
        yield path, "transfer needs at least one target under transfers"
    if tool.mcp and tool.mcp not in agent.servers:
        yield f"{path}.mcp", f'there is no "{tool.mcp}" under servers{_list(agent.servers)}'


def _list(names: Mapping[str, object]) -> str:
    return f"; there are: {', '.join(sorted(names))}" if names else ""
