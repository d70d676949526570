"""What a call needs of the agent that answers it, made ready once and used by every call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gateway.call.saying import FixedLineBook
from gateway.call.settings import ConversationSettings
from gateway.call.tool_runs import Toolbox
from gateway.events import CallInfo, Entry
from gateway.ports import Backend, Page
from turn.taking import TurnSettings


@dataclass(frozen=True, slots=True)
class ReadyAgent:
    """One agent, ready to take calls."""

    conversation: ConversationSettings
    turns: TurnSettings
    backend: Callable[[str], Backend]
    "makes the backend of a name; the empty name is the agent's first"
    tools: Callable[[CallInfo, Page | None], Toolbox]
    "opens the agent's tools for a call"
    lines: FixedLineBook
    note: Callable[[CallInfo], Entry | None] = lambda _call: None
    "what the model is told of a call before it begins"
    hints: tuple[str, ...] = ()
    "words that callers are likely to say"


class Agents(Protocol):
    """Finds the agent that a line asks for."""

    def knows(self, agent: str) -> bool:
        """Return whether there is an agent of this name; empty is the default one."""

    def engage(self, agent: str) -> ReadyAgent:
        """Return the agent as its file stands now; a broken file gives what it was before."""
