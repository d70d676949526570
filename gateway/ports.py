"""The sockets of the gateway: what a line and a backend must offer.

A port is small, and what differs between implementations is data on it, never a class test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from gateway.events import (
    AgentAudio,
    BackendCommand,
    BackendLost,
    BackendReady,
    BackendTurn,
    BeepHeard,
    CallerAnswered,
    CallerGone,
    CallerKey,
    CallerTyped,
    CallerWords,
    CallHeld,
    CallInfo,
    CallReleased,
    EndAsked,
    Entry,
    Json,
    PageTold,
    ReplyEnded,
    ReplyExpects,
    ReplyText,
    ToolAsked,
    TransferEnded,
    UsageReported,
    UtteranceEnded,
)
from gateway.log_events import CallFailedLogged, CallRefusedLogged, LogEvent
from media.frame import AudioFrame
from media.playout import Chunk, Playout

LineEvent = (
    CallerKey
    | CallerTyped
    | PageTold
    | CallerAnswered
    | CallerGone
    | CallHeld
    | CallReleased
    | TransferEnded
    | EndAsked
    | BeepHeard
)
BackendEvent = (
    CallerWords
    | ReplyText
    | AgentAudio
    | UtteranceEnded
    | ReplyEnded
    | ReplyExpects
    | ToolAsked
    | BackendReady
    | BackendLost
    | BackendTurn
    | UsageReported
)


class Ear(Protocol):
    """The call's side of a leg: what the line calls, on the loop, without waiting."""

    def hear(self, frame: AudioFrame) -> None:
        """Take the caller's next frame; frames come in order, gaps are jumps in `start`."""

    def notice(self, event: LineEvent) -> None:
        """Take anything else that happened on the leg; also from within what the leg is asked,
        since a call takes one event after the other."""


class Leg(Protocol):
    """One caller on a line, after it was answered. All methods return at once."""

    info: CallInfo
    playout: Playout
    "made by the line, since the lead and the wire form are the line's to know"
    clocked: bool
    """the line's time passes here: every 20 ms `send` is called, also with nothing, then `poll`;
    else `send` is called only while there is sound to be heard, and at once when it begins, and
    what the caller says comes by itself"""
    cancels_echo: bool
    "the caller's end takes our own sound out of what it sends, as browsers do"

    @property
    def witness(self) -> Witness | None:
        """Who shows the caller how the call goes, beside the sound; None: nobody does."""

    @property
    def page(self) -> Page | None:
        """The page that the caller is on, where it does things for the agent; None: there is no
        page."""

    def behind(self) -> float:
        """Return by how many seconds sound is heard after it was spoken, as far as is known: it
        was on its way, and waited in a jitter buffer; 0 where the line cannot tell."""

    def attach(self, ear: Ear) -> None:
        """Give sound and events to `ear` from now on; what came before is handed over first."""

    def send(self, chunks: Sequence[Chunk]) -> None:
        """Put what `playout.pull` returned on the wire; it may be nothing."""

    def poll(self, now: float) -> None:
        """Give `ear` the caller's sound that is due by now, and what else the time has brought;
        called where the leg is `clocked`."""

    def clear(self) -> None:
        """Make the far side forget what it has not played."""

    def send_keys(self, keys: str) -> None:
        """Press keys towards the caller's side, at a pace that is understood."""

    def transfer(self, target: str, summary: str) -> None:
        """Hand the caller to `target`; the outcome comes as `TransferEnded`."""

    def hang_up(self, reason: str) -> None:
        """End the call in the protocol's own way; `CallerGone` follows."""


class PageFailed(Exception):
    """A page could not do what was asked, and says why."""


class Page(Protocol):
    """The caller's own page, which does what the agent's file allows it to be asked for."""

    async def use(self, name: str, arguments: Json) -> Any:
        """Have it do something; raises PageFailed, or OSError when the page left meanwhile."""


class Witness(Protocol):
    """Who shows the caller how the call goes: a page. All methods return at once."""

    def observe(self, event: LogEvent) -> None:
        """Take a line of the call log."""

    def agent_began(self) -> None:
        """Take that the caller hears the agent."""

    def agent_fell(self) -> None:
        """Take that the caller hears the agent no more."""

    def caption(self, utterance: int, text: str) -> None:
        """Take the words of an utterance that were heard by now; asked for every 20 ms."""


Free = Callable[[], None]
"""Gives back the place that was kept for a call."""


def no_place() -> None:
    """Give back a place where none was kept."""


class CallTaker(Protocol):
    """What a line asks when a call wants in, and what it does when one is up."""

    def admit(self, agent: str) -> Refusal | None:
        """Return whether one more call may come; called before anything is answered."""

    def take(self) -> Free:
        """Keep a place for a call that was admitted and is not up yet; gives what frees it.

        To be freed once, right before `begin` or when the call comes to nothing; more is harmless.
        """

    def missed(self, call: CallRefusedLogged | CallFailedLogged) -> None:
        """Take a call that was refused, for whatever reason, or was placed and not answered."""

    def begin(self, leg: Leg) -> None:
        """Run a call on an answered leg, in the background, until it ends."""

    def knows(self, agent: str) -> bool:
        """Return whether there is such an agent."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call may not come in; each line says it in its own words."""

    kind: Literal["busy", "unknown_agent", "draining", "forbidden"]
    retry_after: int = 0
    "seconds, where trying again makes sense"
    text: str = ""
    "for people"
    cause: Literal["", "calls", "late", "connecting", "ports"] = ""
    """what makes it busy: calls at their limit, ticks that come late, calls that are not up yet, no
    port left"""


# --- backends ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BackendTraits:
    """What a backend can do; the conversation asks this and never the class."""

    owns_turns: bool = False
    "it decides itself when the caller is done and when it is interrupted"
    truncates: bool = True
    "it can be told how much of an utterance was heard"
    drafts: bool = True
    "a reply can be begun and thrown away"
    tools: bool = True
    "it can ask for tools; else it is told of none"
    wants_transcript: bool = False
    "it makes `CallerWords` itself from the sound it hears"
    hang_seconds: float | None = None
    """without any sound of an answer for so long it hangs, and is asked again; None: that is for
    its parts to find out, which have limits of their own"""


@dataclass(frozen=True, slots=True)
class BackendStart:
    """What a backend is told when a call (or a renewal) begins."""

    info: CallInfo
    instructions: str
    tools: tuple[ToolSpec, ...] = ()
    history: tuple[Entry, ...] = ()
    hints: tuple[str, ...] = ()
    "words that callers are likely to say"
    next_utterance: Callable[[], int] = field(default=lambda: 0)
    "gives ids for utterances the backend begins on its own"
    recall: Callable[[], tuple[Entry, ...]] = field(default=tuple)
    "gives the conversation so far, for a session that is renewed"


class Backend(Protocol):
    """Who answers: a speech-to-speech model, or a cascade. One per call."""

    traits: BackendTraits

    async def run(self, start: BackendStart, emit: Callable[[BackendEvent], None]) -> None:
        """Serve one call until cancelled; failures are emitted as `BackendLost`, not raised."""

    def hear(self, frame: AudioFrame) -> None:
        """Take the caller's sound; must not block."""

    def perform(self, command: BackendCommand) -> None:
        """Begin what is asked; must not block."""

    async def words(self, start: int, end: int) -> str | None:
        """Return the words so far in [start, end) of the caller's sound, for turn-taking; None
        where nobody listens for them. Raises OSError or TimeoutError on failure."""

    def done(self, at: int) -> float | None:
        """Return how likely the caller was done at `at`; None: it does not judge that."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model and the gateway know it."""

    name: str
    description: str
    parameters: Json
    "JSON schema of the arguments"
    effect: Literal["read", "write"] = "read"
    timeout: float = 10.0
    "seconds"
    filler: str = ""
    "what is said when it takes over a second; empty: the agent's own filler"
    confirm: bool = False
    "a write that needs the caller's explicit yes"
    say: str = ""
    """what is read back before that, made of the arguments: `Shall I order {count} {item}?`; parts
    in brackets are left out where they are not known"""


class LiveCalls(Protocol):
    """The calls in progress, as far as somebody from outside may act on them."""

    def hang_up(self, call: str, by: str) -> bool:
        """End a call; say whether there is one of that name."""

    def transfer(self, call: str, to: str, by: str) -> bool:
        """Put a caller through, where the call's agent may; say whether there is such a call."""
