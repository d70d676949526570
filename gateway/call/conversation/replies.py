"""The agent's answers: which is being drafted, which is owed, which is void."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from gateway.call.conversation.stages import TurnClock, after
from gateway.events import ReplyExpects

RECENT = 32
"""Replies whose turn is remembered: tools of older ones have come back or have run out of time."""


@dataclass(slots=True)
class Reply:
    """One answer to one turn of the caller, drafted or confirmed."""

    id: int
    turn: int
    started: float
    "loop seconds"
    start: int
    "first voiced sample of the turn it answers"
    end: int = 0
    "where that turn ends; 0: it has no sound"
    utterance: int = 0
    "its first utterance; 0 while it is a draft"
    clock: TurnClock | None = None
    "None while it is a draft"
    caller_text: str | None = None
    "the final words it answers, once known"
    proposal: str = ""
    "the proposal that the turn it answers is the answer to"
    proposal_heard: bool = False
    "nothing was heard after that was read back, and it was heard to its end"
    draft_text: str = ""
    "tokens that came while it was a draft"
    expects: ReplyExpects | None = None
    sure_at: float = 0.0
    "loop seconds before which the caller may go on, so that no write begins"
    writes: bool = False
    "it asked for something to be done to the world"
    before: str = ""
    "what the caller said in a turn that was joined to the one it answers"
    transcript_at: float | None = None
    first_token_at: float | None = None
    generating: bool = True
    audible: bool = False
    "the caller has heard some of it"
    told: bool = False
    "its turn's stages are in the log"
    asked: bool = False
    "it asked for tools, and has not been told to go on after them"
    retried: bool = False
    "the model was asked for it a second time"
    spoke: set[int] = field(default_factory=set)
    "utterances that have sound"

    def skip(self, since: float, until: float) -> None:
        """Leave a hold out of every time that is measured."""
        self.started = after(self.started, since, until)
        if self.transcript_at is not None:
            self.transcript_at = after(self.transcript_at, since, until)
        if self.first_token_at is not None:
            self.first_token_at = after(self.first_token_at, since, until)
        if self.clock is not None:
            self.clock.skip(since, until)


class Replies:
    """Numbers turns and replies; knows the one draft and the one reply that are alive."""

    def __init__(self) -> None:
        self.turn = 0
        self.draft: Reply | None = None
        self.current: Reply | None = None
        self.unanswered: int | None = None
        "turn whose unheard reply was given up because the caller went on"
        self.drafts_started = 0
        self._last_id = 0
        self._recent: deque[Reply] = deque(maxlen=RECENT)

    def new(self, turn: int, now: float, start: int) -> Reply:
        """Make a reply with the next id."""
        self._last_id += 1
        reply = Reply(self._last_id, turn, now, start)
        self._recent.append(reply)
        return reply

    def turn_of(self, reply: int) -> int | None:
        """Return which turn a reply answers, also one that was given up; None: it is long past."""
        return next((one.turn for one in self._recent if one.id == reply), None)

    def begin_draft(self, now: float, start: int) -> Reply:
        """Start a draft for the turn that may be ending."""
        self.draft = self.new(self.turn + 1, now, start)
        self.drafts_started += 1
        return self.draft

    def take_draft(self) -> Reply | None:
        """Return the draft, if there is one, and keep none."""
        draft, self.draft = self.draft, None
        return draft

    def confirm(self, now: float, start: int) -> tuple[Reply, bool]:
        """Begin the turn that ended: its reply, and whether that was drafted."""
        self.turn += 1
        draft = self.take_draft()
        reply = draft if draft is not None else self.new(self.turn, now, start)
        reply.turn = self.turn
        self.current = reply
        return reply, draft is not None

    def once_more(self, owed: Reply, now: float) -> Reply:
        """Begin a reply anew that came to nothing: it answers the same turn."""
        reply = self.new(owed.turn, now, owed.start)
        reply.end, reply.caller_text, reply.before = owed.end, owed.caller_text, owed.before
        reply.proposal, reply.proposal_heard = owed.proposal, owed.proposal_heard
        reply.sure_at, reply.told = owed.sure_at, owed.told
        reply.retried = True
        self.current = reply
        return reply

    def find(self, reply: int) -> Reply | None:
        """Find a reply that is alive; what comes for any other is void."""
        for alive in (self.current, self.draft):
            if alive is not None and alive.id == reply:
                return alive
        return None

    def of_turn(self, turn: int) -> Reply | None:
        """Find the living reply that answers a turn."""
        for alive in (self.draft, self.current):
            if alive is not None and alive.turn == turn:
                return alive
        return None
