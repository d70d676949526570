"""What the caller is asked before something is done: one at a time, in the order of asking.

A proposal is one deed with its arguments. It is read back in words made of them, heard by the
ledger, and answered once: by a plain yes, which is the consent to exactly that, or by anything
else, which is none. It never runs anything.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from gateway.call.tools.asks import Ask
from gateway.events import Json
from gateway.ports import ToolSpec

AGAIN = 1
"""How often a caller whose answer is in doubt is asked again, before the model is left to it."""

Verdict = Literal["agreed", "again", "declined", "lapsed"]


@dataclass(slots=True)
class Proposal:
    """One deed that waits for its yes."""

    run: str
    "its id in the call: its button's, its deed's"
    spec: ToolSpec
    arguments: Json
    reply: int
    "the reply that asked for it"
    text: str
    "what is read back"
    answered_by: int | None = None
    "the reply to the turn that answers it, while that turn's words are not known"
    times: int = 0
    "how often it was read back"
    blurred: bool = False
    "a turn that might have answered it was never heard to its end: the next answer is in doubt"
    waiting: list[Ask] = field(default_factory=list)
    "requests for the same, made while the answer was not known"

    def means(self, ask: Ask) -> bool:
        """Return whether a request is for the same."""
        return ask.name == self.spec.name and ask.arguments == self.arguments


@dataclass(slots=True)
class Proposals:
    """The proposal that is open, and those behind it."""

    open: Proposal | None = None
    "it is being read back, or was, and is not answered"
    _queue: deque[Proposal] = field(default_factory=deque)

    def add(self, ask: Ask, spec: ToolSpec, text: str) -> Proposal:
        """Put a proposal behind the others, unless it is there already and nobody answered it."""
        for known in (*self._queue, self.open):
            if known is not None and known.means(ask):
                return known
        made = Proposal(ask.run, spec, ask.arguments, ask.reply, text)
        self._queue.append(made)
        return made

    def next(self) -> Proposal | None:
        """Open the next one, if none is open."""
        if self.open is not None or not self._queue:
            return None
        self.open = self._queue.popleft()
        return self.open

    def lapse(self, reply: int) -> Proposal | None:
        """Let go of the open one, where no answer to it can come any more."""
        made = self.open
        if made is None or not made.blurred or made.answered_by == reply:
            return None
        self.open = None
        return made

    def judged(self, ask: Ask) -> Proposal | None:
        """Return the open proposal, where its answer is in the very turn that a request answers."""
        made = self.open
        return made if made is not None and made.answered_by == ask.reply else None

    def of(self, reply: int) -> bool:
        """Return whether something that a reply asked for waits for its yes."""
        mine = [made for made in self._queue if made.reply == reply]
        return bool(mine) or (self.open is not None and self.open.reply == reply)

    def withdraw(self, reply: int) -> list[Proposal]:
        """Take back what a reply proposed and nobody was asked yet."""
        gone = [made for made in self._queue if made.reply == reply]
        self._queue = deque(made for made in self._queue if made.reply != reply)
        return gone

    @property
    def pending(self) -> bool:
        """Something is to be read back, or its answer is waited for."""
        return self.open is not None or bool(self._queue)

    def answering(self, reply: int) -> None:
        """A turn has ended that answers the open proposal; its words come."""
        if self.open is not None:
            self.open.blurred |= self.open.answered_by is not None
            self.open.answered_by = reply

    def judge(self, answer: str, *, heard: bool) -> Verdict:
        """Decide what an answer to the open proposal is; `heard`: its question was, to the end."""
        made = self.open
        assert made is not None
        heard = heard and not made.blurred
        made.answered_by, made.blurred = None, False
        if answer == "no":
            verdict: Verdict = "declined"
        elif answer == "yes" and heard:
            verdict = "agreed"
        elif answer in ("yes", "doubt") and made.times <= AGAIN:
            return "again"
        else:
            verdict = "lapsed"
        self.open = None
        return verdict
