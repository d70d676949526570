"""The file a scripted dialogue is written in, and what must hold between its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from gateway.backends.cascade.models.script.choices import Choices, choices
from gateway.plumbing.toml_file import Mistake, TomlError, TomlFile, decode

Kind = Literal["choice", "name", "spelling", "year", "day", "time", "yes_no", "digits", "text"]

EXPECTS: dict[Kind, str] = {
    "name": "name",
    "spelling": "spelling",
    "digits": "digits",
    "yes_no": "yes_no",
}
"""What turn-taking is told to expect; `open` for every other kind."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One thing to know from the caller.

    Texts may hold `{names}` of slots and results; `[...]` is left out unless all in it is known,
    and `[this|that]` is the first of its parts that can be said.
    """

    kind: Kind
    ask: tuple[str, ...] = ()
    "the question, then its other wordings for when the answer was not understood"
    lead: tuple[str, ...] = ()
    "what a name follows when it comes unasked: `my name is`"
    most: int = 2
    "words in a name, digits that are enough"
    values: str = ""
    "the list a choice is from"
    within: str = ""
    "the slot whose value names the group to choose from"
    free: bool = False
    "a choice that takes other words too, when asked a second time"
    optional: bool = False
    "go on without it when it was asked for and not understood"
    tries: int = 2
    "how often an optional one is asked for by itself"
    variable: str = ""
    "the variable of the call that may hold it already"
    expects: str = ""
    profile: str = ""
    "patience of turn-taking while it is asked for"
    yes: str = ""
    "what a plain yes to the question means"
    no_ask: str = ""
    "asked next after a no"
    no_fill: tuple[str, ...] = ()
    "the slots that this question is for"
    no_task: str = ""
    "gone to after a no"
    yes_ask: str = ""
    "asked next after a yes to something that needs more"
    means_yes: tuple[str, ...] = ()
    "where given, only these phrases are a yes to this question, and not all of the language"
    means_no: tuple[str, ...] = ()
    "phrases that are a no, besides those of the language"
    keep: bool = False
    "once known, it is not heard again in answers to other questions"
    whole: bool = False
    "a text that takes the utterance as it is: nothing else in it is listened for"
    also: tuple[str, ...] = ()
    "slots that an answer to this question may fill as well as if it were for them"
    fuzzy: bool = True
    "a choice that is also heard when its words are bent; off where the list has common words"
    follows: str = ""
    "a name that comes after that of another slot, as a last name does"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a task: fill slots, use a tool, or say something."""

    fill: tuple[str, ...] = ()
    ask: str = ""
    "the question when more than one of them is missing"
    then: str = ""
    "said when the caller has just given them"
    tool: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    "templates; an argument whose template is not wholly known is left out"
    into: str = ""
    "the name the result goes by; the tool's own where empty"
    before: str = ""
    "said while the tool runs"
    failed: str = ""
    "said when it did not work; then the task that takes over is begun"
    slow: str = ""
    "said when a write is not done in time; then the task is over"
    no_ask: str = ""
    "asked when the caller does not want what was read back to them"
    no_fill: tuple[str, ...] = ()
    "the slots that an answer to a read-back may fill anew"
    retry: tuple[str, ...] = ()
    "slots and results to forget after a failure, so that the task finds another way"
    say: str = ""
    must_hear: bool = False
    "said again when the caller did not hear it"
    when: str = ""
    "`slot`, `!slot`, `slot=value`; also results as `result.field`"


@dataclass(frozen=True, slots=True)
class Task:
    """What is done for a caller, step by step."""

    steps: tuple[Step, ...] = ()
    reopen: bool = False
    "what the caller corrects afterwards takes it up again"
    last: bool = False
    "there is nothing after it"


@dataclass(frozen=True, slots=True)
class Intent:
    """Something callers say that is no answer to a question."""

    name: str
    phrases: tuple[str, ...]
    "`*` stands for up to three words"
    unless: tuple[str, ...] = ()
    "phrases that take it back"
    most_words: int = 0
    "utterances longer than this mean something else; 0: no limit"
    kind: Literal["", "repeat", "wait"] = ""
    say: str = ""
    tool: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    task: str = ""
    "begun in place of the present one"
    alone: bool = False
    "only where the utterance says nothing else of use"


@dataclass(frozen=True, slots=True)
class Lines:
    """What is said in every dialogue."""

    opening: str = "How can I help you?"
    again: str = "Sorry, I didn't get that."
    "before a question's other wording"
    go_on: tuple[str, ...] = ("Go ahead.", "Yes?")
    "to a caller who broke off"
    wait: str = "Of course, take your time."
    lost: str = "I'm sorry, I'm not getting this right."
    "before a message is taken"
    trouble: str = "I'm sorry, that isn't working right now."


@dataclass(frozen=True)
class Script:
    """A whole dialogue."""

    start: str
    "the task a call begins with"
    after: str
    "the task when one is done"
    lost: str
    "the task when the caller was not understood twice, or a tool failed"
    slots: Mapping[str, Slot]
    tasks: Mapping[str, Task]
    intents: tuple[Intent, ...] = ()
    lines: Lines = field(default_factory=Lines)
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """lists: each entry a value, or `value = form, form`; a `(value)` is not for saying, so that
    `{slot.known}` is empty for it"""
    groups: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    "lists that depend on another slot's value"

    @cached_property
    def lists(self) -> Mapping[str, Choices]:
        """The lists, ready to be listened for."""
        return {name: choices(entries) for name, entries in self.values.items()}

    @cached_property
    def grouped(self) -> Mapping[str, Mapping[str, Choices]]:
        """The groups of lists, ready to be listened for."""
        return {
            name: {key: choices(entries) for key, entries in group.items()}
            for name, group in self.groups.items()
        }

    def result_name(self, step: Step) -> str:
        """Return the name a step's result goes by."""
        return step.into or step.tool


def load(file: TomlFile) -> Script:
    """Read a script; raise TomlError with every mistake."""
    script = decode(Script, file)
    wrong = [Mistake(path, file.line(path), said) for path, said in _mistakes(script)]
    if wrong:
        raise TomlError(file.name, wrong)
    # Made ready here, where it may take its milliseconds, and not in the first call's first turn.
    assert script.lists is not None
    assert script.grouped is not None
    return script


def _mistakes(script: Script) -> Iterator[tuple[str, str]]:
    for name in ("start", "after", "lost"):
        if getattr(script, name) not in script.tasks:
            yield name, f'there is no task "{getattr(script, name)}"'
    for name, slot in script.slots.items():
        yield from _slot_mistakes(script, f"slots.{name}", slot)
    for name, task in script.tasks.items():
        for at, step in enumerate(task.steps):
            path = f"tasks.{name}.steps[{at}]"
            if sum(bool(part) for part in (step.fill, step.tool, step.say)) != 1:
                yield path, "a step has exactly one of fill, tool and say"
            yield from _unknown(path, "slot", (*step.fill, *step.no_fill), script.slots)
            for each in step.fill:
                if each in script.slots and not script.slots[each].ask:
                    yield f"slots.{each}", f"ask is missing; the task {name} asks for it"
    for at, intent in enumerate(script.intents):
        if intent.task and intent.task not in script.tasks:
            yield f"intents[{at}]", f'there is no task "{intent.task}"'


def _slot_mistakes(script: Script, path: str, slot: Slot) -> Iterator[tuple[str, str]]:
    if slot.kind == "choice":
        lists: Mapping[str, object] = script.groups if slot.within else script.values
        if slot.values not in lists:
            yield path, f'values must name a list; there is no "{slot.values}"'
    if slot.no_task and slot.no_task not in script.tasks:
        yield path, f'no_task: there is no task "{slot.no_task}"'
    others = tuple(name for name in (slot.within, slot.follows) if name)
    named = (*slot.no_fill, *slot.also, *others)
    yield from _unknown(path, "slot", named, script.slots)


def _unknown(
    path: str, what: str, names: tuple[str, ...], known: Mapping[str, object]
) -> Iterator[tuple[str, str]]:
    for name in names:
        if name not in known:
            yield path, f'there is no {what} "{name}"; there are: {", ".join(sorted(known))}'
