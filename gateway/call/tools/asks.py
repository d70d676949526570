"""What is known of each request of the model, and of the silence while one is waited for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from gateway.call.tools.deeds import Deed
from gateway.events import Entry, Json, Outcome, ToolAsked
from gateway.ports import ToolSpec


@dataclass(frozen=True, slots=True)
class Request:
    """What the model asked for."""

    asked: ToolAsked
    run: str
    "its id in the call; the model's own need not be unique"
    spec: ToolSpec | None
    "None: there is no such tool"


@dataclass(slots=True)
class Ask:
    """One request of the model, from the asking to the answer."""

    of: Request
    draft: bool
    state: Literal["held", "running", "waiting", "over"] = "held"
    "held: a draft's write; running: a read at work; waiting: for a deed, or for a caller's answer"
    deed: Deed | None = None
    "the write that it waits for"
    started: float | None = None
    due: float | None = None
    "loop seconds at which an answer is given, whatever it is"
    result: Json = field(default_factory=dict)
    "what the model is told"
    outcome: Outcome | Literal["proposed"] = "done"
    seconds: float = 0.0
    ready: bool = False
    "there is something to tell the model"
    answered: bool = False
    "it was told"
    last_straw: bool = False
    "the model had been told to stop asking"

    @property
    def run(self) -> str:
        """Its id in the call."""
        return self.of.run

    @property
    def reply(self) -> int:
        """The reply it belongs to."""
        return self.of.asked.reply

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.of.asked.name

    @property
    def arguments(self) -> Json:
        """What the tool is to be called with."""
        return self.of.asked.arguments

    @property
    def spec(self) -> ToolSpec | None:
        """What is known of the tool."""
        return self.of.spec

    def request(self) -> Entry:
        """Return its place in the history."""
        return Entry("tool_ask", ask=self.run, name=self.name, data=self.arguments)

    def response(self) -> Entry:
        """Return what the history says of its answer."""
        return Entry("tool_result", ask=self.run, name=self.name, data=self.result)

    def finish(self, result: Json, outcome: Outcome | Literal["proposed"], now: float) -> None:
        """Take its answer; a second one is too late."""
        if self.ready:
            return
        self.state, self.ready, self.due = "over", True, None
        self.result, self.outcome = result, outcome
        self.seconds = 0.0 if self.started is None else now - self.started


@dataclass(slots=True)
class _Round:
    number: int = 1
    asks: int = 0
    last: float = 0.0
    "loop seconds of the latest request"


@dataclass(slots=True)
class Asks:
    """Every request of a call, in order; forgets those of drafts that were thrown away."""

    _all: list[Ask] = field(default_factory=list)
    _runs: set[str] = field(default_factory=set)
    "ids that were ever used, also by what was thrown away: its answers may still come"
    _rounds: dict[int, _Round] = field(default_factory=dict)

    def add(self, asked: ToolAsked, spec: ToolSpec | None, *, draft: bool, now: float) -> Ask:
        """Enter a request under an id that no other one of the call has."""
        run, n = asked.ask, 1
        while run in self._runs:
            n += 1
            run = f"{asked.ask}~{n}"
        self._runs.add(run)
        turn = self._rounds.setdefault(asked.reply, _Round())
        turn.asks += 1
        turn.last = now
        ask = Ask(Request(asked, run, spec), draft)
        self._all.append(ask)
        return ask

    def forget(self, reply: int) -> None:
        """Drop everything a draft asked for."""
        self._all = [ask for ask in self._all if ask.reply != reply]
        self._rounds.pop(reply, None)

    def close(self, reply: int) -> None:
        """No more comes of this reply."""
        self._rounds.pop(reply, None)

    def __iter__(self) -> Iterator[Ask]:
        return iter(tuple(self._all))

    def of(self, reply: int) -> list[Ask]:
        """List a reply's requests."""
        return [ask for ask in self._all if ask.reply == reply]

    def running(self, run: str) -> Ask | None:
        """Find a request whose tool is at work."""
        found = (ask for ask in self._all if ask.run == run and ask.state == "running")
        return next(found, None)

    def waiting_for(self, deed: Deed) -> list[Ask]:
        """List the requests that a write is to answer."""
        return [ask for ask in self._all if ask.deed is deed and not ask.ready]

    def waited_for(self) -> list[Ask]:
        """List the reads that a caller, who has finished their turn, waits for."""
        return [ask for ask in self._all if ask.state == "running" and not ask.draft]

    def overdue(self, now: float) -> list[Ask]:
        """List what should have come back by now."""
        return [ask for ask in self._all if ask.due is not None and ask.due <= now]

    # --- rounds: what one message of the model asks for ------------------------------------------

    def round(self, reply: int) -> _Round:
        """Return the present round of a reply."""
        return self._rounds.get(reply, _Round())

    def next_round(self, reply: int) -> None:
        """The round is answered; what is asked now belongs to the next."""
        turn = self._rounds.setdefault(reply, _Round())
        turn.number += 1
        turn.asks = 0

    def unanswered(self, reply: int) -> list[Ask]:
        """List what a reply's present round asked for."""
        return [ask for ask in self._all if ask.reply == reply and not ask.answered]

    def replies(self) -> list[int]:
        """List the replies that have something unanswered, in order."""
        return list(dict.fromkeys(ask.reply for ask in self._all if not ask.answered))


@dataclass(slots=True)
class Filler:
    """Measures silence while the caller waits for a tool; its steps grow, then stay."""

    steps: tuple[float, ...]
    "seconds of silence before the first, second and every later filler"
    _waiting: bool = False
    _since: float | None = 0.0
    "when the present silence began; None: the agent is heard"
    _said: int = 0

    def wait(self, waiting: bool, now: float) -> None:
        """Someone waits for a tool, or nobody does."""
        if waiting and not self._waiting:
            self._said = 0
            if self._since is not None:
                self._since = now
        self._waiting = waiting

    def sounding(self) -> None:
        """The agent is heard."""
        self._since = None

    def silent(self, now: float) -> None:
        """Nothing is heard any more."""
        if self._since is None:
            self._since = now

    def said(self, now: float) -> None:
        """A filler was asked for; it counts as sound from now, in case it is never heard."""
        self._said += 1
        self._since = now

    @property
    def deadline(self) -> float | None:
        """Loop seconds at which a filler is due."""
        if not self._waiting or self._since is None:
            return None
        return self._since + self.steps[min(self._said, len(self.steps) - 1)]
