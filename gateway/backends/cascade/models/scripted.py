"""A language model that follows a script, so that a call works without a large one.

It is a function of the request's history: the dialogue is gone through anew for every request, so
that a draft leaves no trace and an interrupted reply needs no repair. It streams tokens with a
delay and at a pace like a large model, which makes it a stand-in for one in tests and load runs.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from gateway.backends.cascade.models.script.dialogue import Dialogue
from gateway.backends.cascade.models.script.format import Script
from gateway.backends.cascade.models.script.state import State
from gateway.backends.cascade.ports import (
    Expectation,
    ModelEvent,
    ModelRequest,
    ModelUsage,
    TextDelta,
    ToolDelta,
)
from gateway.events import Entry

CALLS = 256
"""Calls whose last state is kept, so that a long history is not gone through at every turn."""

STEPS = 12
"""Entries of a history that may still be taken back: a turn with its tools, and a cut reply."""

_TOKEN = re.compile(r"\s*\S{1,6}")
"""What counts as a token: a piece of a word of about the length that large models use."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast the tokens come."""

    first_token: float = 0.0
    "seconds from the request to the first token"
    tokens_per_second: float = 0.0
    "0: all at once"


@dataclass(slots=True)
class _Known:
    """How far a call's history was followed; only ever a shortcut to the same answer."""

    states: list[tuple[tuple[Entry, ...], State]]
    "the last few histories that were followed, shortest first, and what they led to"


class ScriptedModel:
    """Answers by a script; serves any number of calls."""

    def __init__(self, script: Script, pace: Pace | None = None, language: str = "en") -> None:
        self._dialogue = Dialogue(script, language)
        self._pace = pace or Pace()
        self._known: OrderedDict[str, _Known] = OrderedDict()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Return the reply to a history token by token, then the tools it asks for."""
        begun = asyncio.get_running_loop().time()
        plan = self.state(request).plan
        await _until(begun + self._pace.first_token)
        if plan.expects:
            yield Expectation(plan.expects, plan.profile)
        pieces = tokens(plan.text)
        rate = self._pace.tokens_per_second
        for count, piece in enumerate(pieces):
            if rate and count:
                await _until(begun + self._pace.first_token + count / rate)
            yield TextDelta(piece)
        for call in plan.calls:
            yield ToolDelta(call.ask, call.name, call.arguments)
        yield ModelUsage({"completion_tokens": len(pieces)})

    def elsewhere(self) -> ScriptedModel:
        """Return the model itself: there is no server that could be busy."""
        return self

    def state(self, request: ModelRequest) -> State:
        """Go through a request's history, from where an earlier one of the call agrees with it."""
        history = request.history
        known = self._known.pop(request.call_id, None) or _Known([])
        # What a draft added may not have come to be, and words that were cut are shorter now.
        agreeing = [pair for pair in known.states if history[: len(pair[0])] == pair[0]]
        done, state = agreeing[-1] if agreeing else ((), self._dialogue.begin(request.variables))
        for at in range(len(done), len(history)):
            state = self._dialogue.follow(state, history[at])
            agreeing.append((history[: at + 1], state))
        self._known[request.call_id] = _Known(agreeing[-STEPS:])
        while len(self._known) > CALLS:
            self._known.popitem(last=False)
        return state


def tokens(text: str) -> list[str]:
    """Cut a text into pieces that join to it again."""
    pieces = _TOKEN.findall(text)
    rest = text[sum(map(len, pieces)) :]
    return [*pieces, rest] if rest else pieces


async def _until(moment: float) -> None:
    wait = moment - asyncio.get_running_loop().time()
    if wait > 0:
        await asyncio.sleep(wait)
