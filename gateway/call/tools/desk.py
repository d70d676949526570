"""When a tool may run, and what becomes of its answer: effects on the world in two phases.

Reads may run in a draft. Writes wait for the confirmed turn and run one after another. One that
needs the caller's yes is proposed first: its read-back is said and heard, and only a plain yes to
it commits it, with exactly those arguments. What has begun is never stopped, is done once, and its
outcome reaches the model and the caller whatever happened in between.

Every `Remember`ed request is followed by its result before anything else is remembered of this
desk, so that a prompt made from the history only grows: a write that is still running when its
answer is needed gets a placeholder, and what came of it follows as a note.
"""

from __future__ import annotations

from gateway.call.tools.asks import Ask, Asks, Filler
from gateway.call.tools.wants import (
    BURST,
    CANCELLED,
    NO_SUCH_TOOL,
    STILL_RUNNING,
    TIMED_OUT,
    TOO_MANY,
    Answer,
    DeskRules,
    Effects,
    GiveUp,
    Remember,
    SayFiller,
)
from gateway.call.tools.writes import Writes
from gateway.events import CancelTool, Entry, RunTool, ToolAnswered, ToolAsked
from gateway.ports import ToolSpec


class ToolDesk:
    """Takes requests of the model and answers of tools, in loop seconds; runs nothing itself."""

    def __init__(self, rules: DeskRules) -> None:
        self.rules = rules
        self._asks = Asks()
        self.writes = Writes(rules, self._asks)
        self._filler = Filler(rules.fillers)

    # --- what the model and the tools say ---------------------------------------------------

    def ask(self, asked: ToolAsked, spec: ToolSpec | None, *, draft: bool, now: float) -> Effects:
        """Take a request; `draft`: the turn it answers is not confirmed."""
        ask = self._asks.add(asked, spec, draft=draft, now=now)
        effects: Effects = [] if draft else [Remember(ask.request())]
        turn = self._asks.round(ask.reply)
        if turn.number > self.rules.rounds or turn.asks > self.rules.asks:
            ask.last_straw = turn.number > self.rules.rounds + 1
            ask.finish(TOO_MANY, "refused", now)
        elif spec is None:
            ask.finish(NO_SUCH_TOOL, "refused", now)
        elif spec.effect == "read":
            effects += self._read(ask, spec, now)
        elif not draft:
            effects += self.writes.ask(ask, spec, now)
            self._wait(now)
        return effects

    def confirm(self, reply: int, now: float) -> Effects:
        """The turn a draft answers is over: what the draft asked for counts from now on."""
        asks = [ask for ask in self._asks.of(reply) if ask.draft]
        effects: Effects = [Remember(ask.request()) for ask in asks]
        for ask in asks:
            ask.draft = False
            if ask.answered:
                effects.append(Remember(ask.response()))
            elif ask.state == "held" and not ask.ready and ask.spec is not None:
                effects += self.writes.ask(ask, ask.spec, now)
        return effects + self._settle(now)

    def answered(self, event: ToolAnswered, now: float) -> Effects:
        """Take a tool's answer."""
        read = self._asks.running(event.ask)
        if read is not None:
            read.finish(event.result, event.outcome, now)
            return self._settle(now)
        effects = self.writes.work.answered(event, now)
        return effects + self._settle(now)

    def answer(self, text: str, now: float, *, heard: bool) -> Effects:
        """Take the caller's words as the answer to the open proposal."""
        effects = self.writes.answer(text, now, heard=heard)
        return effects + self._settle(now)

    def decide(self, answer: str, now: float, *, heard: bool) -> Effects:
        """Take a `yes`, a `no` or anything else as the answer to the open proposal.

        `heard`: the caller had heard it to its end.
        """
        effects = self.writes.decide(answer, now, heard=heard)
        return effects + self._settle(now)

    # --- what happens around them -------------------------------------------------------------

    def drop(self, reply: int) -> Effects:
        """A draft is thrown away: its reads are stopped, its writes never began."""
        running = [ask for ask in self._asks.of(reply) if ask.state == "running"]
        self._asks.forget(reply)
        return [CancelTool(ask.run) for ask in running]

    def interrupt(self, reply: int, now: float) -> Effects:
        """The caller took the floor from a reply: its reads stop, what has begun goes on."""
        asks = self._asks.unanswered(reply)
        if any(ask.draft for ask in self._asks.of(reply)):
            return self.drop(reply)
        effects = self.writes.withdraw(reply)
        for ask in asks:
            if ask.state == "running":
                effects.append(CancelTool(ask.run))
                ask.finish(CANCELLED, "cancelled", now)
            elif not ask.ready:
                self.writes.interrupted(ask, now)
        effects += [Remember(ask.response()) for ask in asks]
        effects += [self._answer(ask, proceed=False) for ask in asks]
        self._asks.close(reply)
        self._wait(now)
        return effects

    def call_ended(self) -> Effects:
        """The call is over: reads stop; what is left of the writes is done, in its order."""
        reads = [ask for ask in self._asks if ask.state == "running"]
        effects: Effects = [CancelTool(ask.run) for ask in reads]
        return effects + self.writes.work.call_ended()

    def sounding(self) -> None:
        """The caller hears the agent."""
        self._filler.sounding()

    def silent(self, now: float) -> None:
        """The caller has heard everything there was."""
        self._filler.silent(now)

    def time_passed(self, now: float) -> Effects:
        """Answer for what is overdue, and for silence."""
        effects: Effects = []
        for ask in self._asks.overdue(now):
            if ask.state == "running":
                effects.append(CancelTool(ask.run))
                ask.finish(TIMED_OUT, "timeout", now)
            else:
                ask.finish(STILL_RUNNING, "timeout", now)
                if ask.deed is not None:
                    ask.deed.late = True
        effects += self.writes.work.time_passed(now)
        effects += self._settle(now)
        due = self._filler.deadline
        if due is not None and due <= now:
            effects.append(SayFiller(self._wait(now)[0].filler))
            self._filler.said(now)
        return effects

    @property
    def deadline(self) -> float | None:
        """Loop seconds at which `time_passed` is wanted next."""
        moments = [ask.due for ask in self._asks if ask.due is not None]
        moments += self.writes.work.moments()
        moments += [
            self._asks.round(reply).last + BURST
            for reply in self._asks.replies()
            if all(ask.ready for ask in self._asks.unanswered(reply))
        ]
        filler = self._filler.deadline
        return min(moments if filler is None else [*moments, filler], default=None)

    @property
    def busy(self) -> bool:
        """A write runs whose answer is awaited: nothing is drafted and no cut-in is taken."""
        return bool(self.writes.work.waited_for())

    def owes(self, reply: int) -> bool:
        """Return whether something that a reply asked for is not answered."""
        return bool(self._asks.unanswered(reply))

    def entries(self, reply: int) -> tuple[Entry, ...]:
        """Return what a draft's own history has of its tools: each request, then each result."""
        asks = [ask for ask in self._asks.of(reply) if ask.draft]
        requests = [ask.request() for ask in asks]
        return (*requests, *(ask.response() for ask in asks if ask.answered))

    # --- inside -------------------------------------------------------------------------------

    def _read(self, ask: Ask, spec: ToolSpec, now: float) -> Effects:
        ask.state, ask.started, ask.due = "running", now, now + spec.timeout
        self._wait(now)
        return [RunTool(ask.run, ask.name, ask.arguments, "", spec.timeout)]

    def _settle(self, now: float) -> Effects:
        """Answer each round of which everything is known and nothing more can come."""
        effects: Effects = []
        for reply in self._asks.replies():
            asks = self._asks.unanswered(reply)
            if not all(ask.ready for ask in asks) or now < self._asks.round(reply).last + BURST:
                continue
            over = any(ask.last_straw for ask in asks)
            # A question of ours stands last: the model says nothing after it.
            ends = any(ask.outcome == "proposed" for ask in asks)
            proceed = not over and not ends
            effects += [Remember(ask.response()) for ask in asks if not ask.draft]
            for ask in asks:
                last = ask is asks[-1]
                effects.append(self._answer(ask, proceed=last and proceed, ends=last and ends))
            effects += [GiveUp()] if over else []
            self._asks.next_round(reply)
        self._wait(now)
        return effects

    def _answer(self, ask: Ask, *, proceed: bool, ends: bool = False) -> Answer:
        ask.answered = True
        return Answer(
            ask.reply,
            ask.of.asked.ask,
            ask.run,
            ask.name,
            ask.result,
            ask.outcome,
            proceed,
            ask.draft,
            ask.seconds,
            ends,
        )

    def _wait(self, now: float) -> list[ToolSpec]:
        """List what a caller who has finished their turn waits for; the silence over it counts."""
        reads = [ask.spec for ask in self._asks.waited_for() if ask.spec is not None]
        waited = reads + self.writes.work.waited_for()
        self._filler.wait(bool(waited), now)
        return waited
