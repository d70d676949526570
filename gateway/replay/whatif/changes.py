"""Which settings of a recorded call can be another one, and the call's head with them changed."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
from msgspec import Meta

from gateway.call.settings import ConversationSettings
from gateway.plumbing.type_words import describe, show
from gateway.replay.records import Header
from turn.profile import PROFILES, Profile, profile
from turn.taking import TurnSettings

NUMBERS = tuple(each.name for each in fields(Profile) if each.name not in ("name", "means"))
"""Of a profile, each of which can be changed in the one that a call begins with."""

CALL = (
    "idle_seconds",
    "filler_after",
    "filler_for_model",
    "reply_seconds",
    "call_seconds",
    "ending_seconds",
    "drafts",
    "draft_turn_seconds",
)
"""Of the conversation's settings."""

PARTS = ("gate", "endpoint", "overlap")
"""Of turn-taking's, each with numbers of its own."""

FIXED = {
    "turn.vad": "the recording holds what one voice activity model scored",
    "turn.language": "the words of the recording are those of its own language",
    "call.instructions": "the answers of the recording were made with its own",
    "call.tools": "the answers of the recording were made with its own",
    "call.lines": "the lines of the recording are the ones that can be played",
    "call.fallbacks": "nothing is called here that could be fallen back to",
    "call.transfers": "nobody is called here",
    "call.language": "the answers of the recording were made in its own",
}
"""Why a setting that exists cannot be changed in a call that is over."""

Silence = Annotated[float, Meta(ge=0.1, le=10)]


class ChangeError(ValueError):
    """A setting cannot be changed; its text is for the operator."""


@dataclass(frozen=True, slots=True)
class Change:
    """One setting as it would be."""

    name: str
    value: Any

    def __str__(self) -> str:
        """Return it as it was written."""
        return f"{self.name}={_written(self.value)}"


def parse(text: str) -> Change:
    """Read `name=value`; raises ChangeError that says what is allowed."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ChangeError(f"found {text!r}, it must be NAME=VALUE, as in turn.profile=patient")
    return change(name.strip(), value.strip())


def change(name: str, value: str) -> Change:
    """Make a change of a setting's name and its value as text; raises ChangeError."""
    kinds = changeable()
    if name in FIXED:
        raise ChangeError(f"{name} cannot be changed in a recorded call: {FIXED[name]}")
    if name not in kinds:
        near = difflib.get_close_matches(name, [*kinds, *FIXED], 1, 0.5)
        meant = f" ({near[0]}?)" if near else ""
        raise ChangeError(
            f"{name}: no setting of turn-taking or of the call{meant}; there are turn.profile,"
            f" turn.silence, turn.profile.NUMBER, turn.{{{','.join(PARTS)}}}.NUMBER and"
            f" call.{{{','.join(CALL)}}}"
        )
    try:
        found = msgspec.convert(value, kinds[name], strict=False)
    except msgspec.ValidationError:
        allowed = describe(kinds[name])
        raise ChangeError(f"{name}: found {show(value)}, it must be {allowed}") from None
    return Change(name, found)


def changeable() -> Mapping[str, Any]:
    """Return what can be changed, and of which kind it is."""
    hints = get_type_hints(Profile)
    found: dict[str, Any] = {"turn.profile": Literal[tuple(PROFILES)], "turn.silence": Silence}
    found |= {f"turn.profile.{name}": hints[name] for name in NUMBERS}
    for part in PARTS:
        found |= dict(_numbers(f"turn.{part}", get_type_hints(TurnSettings)[part]))
    hints = get_type_hints(ConversationSettings)
    return found | {f"call.{name}": hints[name] for name in CALL}


def _numbers(prefix: str, kind: type[Any]) -> Iterator[tuple[str, Any]]:
    for name, hint in get_type_hints(kind).items():
        if is_dataclass(hint):
            yield from _numbers(f"{prefix}.{name}", hint)  # type: ignore[arg-type]
        elif hint in (int, float, bool):
            yield f"{prefix}.{name}", hint


def applied(header: Header, changes: Sequence[Change]) -> Header:
    """Return a call's head with settings changed; raises ChangeError where they contradict."""
    turns, conversation = changed(header.turns, header.conversation, changes)
    return msgspec.structs.replace(header, turns=turns, conversation=conversation)


def changed(
    turns: TurnSettings, conversation: ConversationSettings, changes: Sequence[Change]
) -> tuple[TurnSettings, ConversationSettings]:
    """Return both with settings changed; raises ChangeError where they contradict."""
    for each in changes:
        turns = _turns(turns, each)
        if each.name == "turn.profile":
            conversation = replace(conversation, profile=each.value)
        elif each.name.startswith("call."):
            values: dict[str, Any] = {each.name[5:]: each.value}
            conversation = replace(conversation, **values)
    return turns, conversation


def value_in(header: Header, name: str) -> Any:
    """Return what a setting was in a call."""
    if name == "turn.profile":
        return header.turns.profile.name
    if name == "turn.silence":
        chosen = header.turns.profile
        return chosen.longest if chosen.means == "silence" else None
    found: Any = header.conversation if name.startswith("call.") else header.turns
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def _turns(turns: TurnSettings, made: Change) -> TurnSettings:
    path = made.name.split(".")
    if path[0] != "turn":
        return turns
    try:
        match path[1:]:
            case ["profile"]:
                return replace(turns, profile=profile(made.value))
            case ["silence"]:
                return replace(turns, profile=Profile.silence(made.value))
            case ["profile", name]:
                number: dict[str, Any] = {name: made.value}
                return replace(turns, profile=replace(turns.profile, **number))
            case parts:
                changed: TurnSettings = _within(turns, parts, made.value)
                return changed
    except ValueError as error:
        raise ChangeError(f"{made}: {error}") from None


def _within(of: Any, path: Sequence[str], value: Any) -> Any:
    name, *rest = path
    inner = _within(getattr(of, name), rest, value) if rest else value
    return dataclasses.replace(of, **{name: inner})


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
