"""What an agent's file decides about the course of a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gateway.call.targets import Targets
from gateway.ports import ToolSpec


@dataclass(frozen=True, slots=True)
class FixedLines:
    """Sentences the gateway says by itself, rendered before they are needed."""

    greeting: str = "Hello, how can I help you?"
    filler: str = "One moment, please."
    apology: str = "I'm sorry, I'm having trouble on my side."
    again: str = "I'm sorry, could you say that again?"
    still_there: str = "Are you still there?"
    goodbye: str = "Thank you for calling. Goodbye."
    sure: str = "I need a clear yes or no, please; you can also press 1 for yes, 2 for no."
    "before a question that is put again, since its answer was no plain yes or no"
    done: str = "That is done now."
    "of something that took long, where the model does not tell it; so are the next two"
    failed: str = "I'm sorry, that did not work."
    unsure: str = "I'm sorry, I cannot tell whether that went through."
    voicemail: str = ""
    "left after the beep where a machine takes a call that was placed; empty: the model's own words"
    transfer_failed: str = "I'm sorry, nobody could take the call. How else can I help?"
    draining: str = "I'm sorry, I have to end this call now. Please call again in a minute."

    hear_out: tuple[Literal["greeting", "filler", "line", "goodbye"], ...] = ()
    """which of them the caller cannot cut into, such as a notice that the law wants heard: the
    greeting, the filler, the goodbye, or any other `line`"""

    def all(self) -> tuple[str, ...]:
        """List every line that is not empty."""
        lines = (
            self.greeting,
            self.filler,
            self.apology,
            self.again,
            self.still_there,
            self.goodbye,
            self.done,
            self.failed,
            self.unsure,
            self.voicemail,
            self.transfer_failed,
            self.draining,
        )
        return tuple(line for line in lines if line)


@dataclass(frozen=True, slots=True)
class ConversationSettings:
    """Limits and habits of one agent's conversations; times in seconds."""

    instructions: str = ""
    lines: FixedLines = field(default_factory=FixedLines)
    tools: tuple[ToolSpec, ...] = ()
    idle_seconds: float = 8.0
    "silence after which a caller is asked whether they are there; then once more, then goodbye"
    filler_after: float = 1.0
    "a wait longer than this is bridged by the filler (people notice from about a second)"
    filler_for_model: bool = False
    "say the filler also when the model, not a tool, is what is waited for"
    reply_seconds: float = 10.0
    "a reply that has made no sound by then has failed"
    call_seconds: float = 3600.0
    ending_seconds: float = 15.0
    "the longest a hang-up waits for its goodbye to be heard"
    drafts: bool = True
    draft_turn_seconds: float = 20.0
    "longer turns are rarely at their end when they pause, so that drafts of them are wasted"
    fallbacks: tuple[str, ...] = ()
    "what is tried in order when the present backend is lost; see the agent's file"
    transfers: Targets = field(default_factory=Targets)
    "whom callers can be put through to"
    yes_key: str = "1"
    "the key that answers a proposal"
    no_key: str = "2"
    language: str = "en"
    profile: str = "default"
    "patience where nothing in particular is asked for"
    expecting: Mapping[str, str] = field(default_factory=dict)
    "patience by what is asked for, where the model names none"

    def patience(self, named: str, expects: str) -> str:
        """Choose the patience for what is asked: the model's word, else the agent's habit."""
        return named or self.expecting.get(expects, self.profile)
