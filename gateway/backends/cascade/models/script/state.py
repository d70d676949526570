"""Where a scripted dialogue stands: a value that is made anew from the history each time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.backends.cascade.models.script.understanding import Value
from gateway.events import Json


@dataclass(frozen=True, slots=True)
class Call:
    """A tool to ask for."""

    ask: str
    name: str
    arguments: Json
    into: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be said and done now."""

    text: str = ""
    question: str = ""
    "the end of the text that asks something"
    pending: tuple[str, ...] = ()
    "the slots the question is for"
    calls: tuple[Call, ...] = ()
    expects: str = ""
    profile: str = ""
    must_hear: str = ""
    "what the caller has to know, and is told again if they did not hear it"


@dataclass(frozen=True, slots=True)
class State:
    """All that is known of a dialogue after an entry of its history."""

    task: str
    slots: Mapping[str, Value] = field(default_factory=dict)
    variables: Json = field(default_factory=dict)
    "of the call"
    skipped: frozenset[str] = frozenset()
    results: Mapping[str, Json] = field(default_factory=dict)
    made: Mapping[str, str] = field(default_factory=dict)
    "results by name, with the arguments they were asked for with"
    proposed: Call | None = None
    "what the caller is asked to agree to, by the gateway"
    agreed: Mapping[str, str] = field(default_factory=dict)
    "yes-or-no slots, with the question that was answered"
    told: frozenset[str] = frozenset()
    "steps that were said, with their words"
    asked: Mapping[str, int] = field(default_factory=dict)
    "how often each question was put"
    misses: int = 0
    "how often in a row the caller was not understood"
    nudges: int = 0
    "how often in a row they were told to go on"
    failures: int = 0
    "how often a tool failed"
    calls: int = 0
    "how many tools were asked for"
    plan: Plan = field(default_factory=Plan)
    heard: Plan = field(default_factory=Plan)
    "the last plan whose question the caller heard: their words answer that one"
    spoken: tuple[str, ...] = ()
    "what was heard of the agent since the caller last spoke"


def was_heard(wanted: str, spoken: tuple[str, ...]) -> bool:
    """Return whether a sentence was heard so far that it was understood.

    Seven tenths of its letters: who hears `what is your last` knows what is asked.
    """
    letters = _letters(wanted)
    heard = _letters(" ".join(spoken))
    enough = -(-7 * len(letters) // 10)
    return not letters or letters[:enough] in heard


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text.lower())
