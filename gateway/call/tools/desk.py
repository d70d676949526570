"""When a tool may run, and what becomes of its answer: effects on the world in two phases.

Reads may run in a draft. Writes wait for the confirmed turn and, where the tool says so, for the
caller's explicit yes to a question they heard; the same deed is done once in a call; one that has
begun is never stopped, and its answer reaches the model whatever happened in between.

Every `Remember`ed request is followed by its result before anything else is remembered of this
desk, so that a prompt made from the history only grows: a write that is still running when its
answer is needed gets a placeholder, and what came of it follows as a note.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from gateway.call.tools.asks import Ask, Asks, Filler, Outcome, write_key
from gateway.events import CancelTool, Entry, Json, RunTool, ToolAnswered, ToolAsked
from gateway.ports import ToolSpec
from gateway.tools.builtins import CALL_TOOLS
from turn.consent import explicit_yes

BURST = 0.02
"""Seconds that a model's requests of one round lie apart at most: they come from one message, so
that they are in the inbox together. The model is not asked to go on before."""


@dataclass(frozen=True, slots=True)
class DeskRules:
    """Limits of one call's tools."""

    call_id: str
    language: str = "en"
    "whose list of yeses holds"
    rounds: int = 5
    "how often in one reply the model may ask for tools; a model that asks for more is in a loop"
    asks: int = 8
    "how many tools in one round"
    fillers: tuple[float, ...] = (1.0, 1.4, 1.8)
    """seconds of silence before the first, second and every later filler: people notice silence
    from about a second, and two must not pass without a word"""


@dataclass(frozen=True, slots=True)
class CallerTurn:
    """What the caller said, as evidence for a yes."""

    text: str
    heard_question: bool = False
    "the agent had asked something and the caller heard it to its end"


# --- what the desk wants done, besides RunTool and CancelTool ------------------------------------


@dataclass(frozen=True, slots=True)
class Perform:
    """Do a built-in that acts on the call itself; answer with `ToolAnswered` as for any other."""

    ask: str
    reply: int
    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class Remember:
    """Append this to the history, now."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Answer:
    """Give the model its answer."""

    reply: int
    ask: str
    "the model's own id of the request"
    name: str
    result: Json
    outcome: Outcome
    proceed: bool
    "everything this reply asked for is answered: let the model go on"
    draft: bool = False
    "the reply is a draft: the history to go on with is the draft's, plus `entries(reply)`"
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class TellModel:
    """What came of a write after its answer was due; the same text is remembered as a note."""

    text: str


@dataclass(frozen=True, slots=True)
class SayFiller:
    """Nothing was heard for a while because a tool runs: say a line."""

    text: str
    "empty: the agent's own filler"


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The model goes on asking for tools and says nothing: this reply needs an apology."""

    reply: int


DeskEffect = RunTool | CancelTool | Perform | Remember | Answer | TellModel | SayFiller | GiveUp
Effects = list[DeskEffect]

NEEDS_YES: Json = {
    "error": "needs_yes",
    "message": "Nothing was done. Say exactly what you are about to do, ask for a yes or a no, "
    "and ask for this tool again only after the caller agreed.",
}
NO_SUCH_TOOL: Json = {"error": "no_such_tool", "message": "There is no tool of this name."}
TOO_MANY: Json = {
    "error": "too_many",
    "message": "Too many tools in one reply. Answer the caller now.",
}
CANCELLED: Json = {"error": "cancelled", "message": "The caller went on before this was known."}
TIMED_OUT: Json = {"error": "timeout", "message": "This took too long and was stopped."}
STILL_RUNNING: Json = {
    "status": "running",
    "message": "This is not finished yet; do not ask for it again. A note says what came of it.",
}


class ToolDesk:
    """Takes requests of the model and answers of tools, in loop seconds; runs nothing itself."""

    def __init__(self, rules: DeskRules) -> None:
        self.rules = rules
        self._asks = Asks()
        self._filler = Filler(rules.fillers)

    # --- what the model and the tools say ---------------------------------------------------

    def ask(
        self, asked: ToolAsked, spec: ToolSpec | None, caller: CallerTurn | None, now: float
    ) -> Effects:
        """Take a request; `caller` is the confirmed turn being answered, None in a draft."""
        ask = self._asks.add(asked, spec, draft=caller is None, now=now)
        effects: Effects = [] if caller is None else [Remember(ask.request())]
        turn = self._asks.round(ask.reply)
        if turn.number > self.rules.rounds or turn.asks > self.rules.asks:
            ask.last_straw = turn.number > self.rules.rounds + 1
            ask.finish(TOO_MANY, "refused", now)
        elif spec is None:
            ask.finish(NO_SUCH_TOOL, "refused", now)
        elif spec.effect == "read":
            effects += self._start(ask, now)
        elif caller is not None:
            effects += self._write(ask, caller, now)
        return effects

    def confirm(self, reply: int, caller: CallerTurn, now: float) -> Effects:
        """The turn a draft answers is over: what the draft asked for counts from now on."""
        asks = [ask for ask in self._asks.of(reply) if ask.draft]
        effects: Effects = [Remember(ask.request()) for ask in asks]
        for ask in asks:
            ask.draft = False
            if ask.answered:
                effects.append(Remember(ask.response()))
            elif ask.state == "held":
                effects += self._write(ask, caller, now)
        return effects + self._settle(now)

    def answered(self, event: ToolAnswered, now: float) -> Effects:
        """Take a tool's answer."""
        ask = self._asks.running(event.ask)
        if ask is None:
            return []  # stopped, or of a draft that was thrown away
        late = ask.ready
        twins = self._asks.twins(ask)
        if late:
            ask.state, ask.true_result, ask.outcome = "over", event.result, event.outcome
        else:
            ask.finish(event.result, event.outcome, now)
        for twin in twins:
            if twin.ready:
                twin.state = "over"
            else:
                twin.finish({**event.result, "repeated": True}, event.outcome, now)
        return (self._late(ask) if late else []) + self._settle(now)

    # --- what happens around them -------------------------------------------------------------

    def drop(self, reply: int) -> Effects:
        """A draft is thrown away: its reads are stopped, its writes never began."""
        running = [ask for ask in self._asks.of(reply) if ask.state == "running"]
        self._asks.forget(reply)
        return [CancelTool(ask.run) for ask in running]

    def interrupt(self, reply: int, now: float) -> Effects:
        """The caller took the floor from a reply: its reads stop, its writes go on."""
        asks = self._asks.unanswered(reply)
        if any(ask.draft for ask in self._asks.of(reply)):
            return self.drop(reply)
        effects: Effects = []
        for ask in asks:
            if ask.state == "running" and not ask.write:
                effects.append(CancelTool(ask.run))
                ask.finish(CANCELLED, "cancelled", now)
            elif not ask.ready:
                ask.result, ask.outcome, ask.ready, ask.due = STILL_RUNNING, "timeout", True, None
                ask.stale = True
        effects += [Remember(ask.response()) for ask in asks]
        effects += [self._answer(ask, proceed=False) for ask in asks]
        self._asks.close(reply)
        self._wait(now)
        return effects

    def call_ended(self) -> Effects:
        """The call is over: reads stop, writes finish without it."""
        return [
            CancelTool(ask.run) for ask in self._asks if ask.state == "running" and not ask.write
        ]

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
            if ask.write:
                ask.result, ask.outcome, ask.ready, ask.due = STILL_RUNNING, "timeout", True, None
            else:
                effects.append(CancelTool(ask.run))
                ask.finish(TIMED_OUT, "timeout", now)
        effects += self._settle(now)
        due = self._filler.deadline
        if due is not None and due <= now:
            spec = self._asks.waited_for()[0].spec
            effects.append(SayFiller(spec.filler if spec is not None else ""))
            self._filler.said(now)
        return effects

    @property
    def deadline(self) -> float | None:
        """Loop seconds at which `time_passed` is wanted next."""
        moments = [ask.due for ask in self._asks if ask.due is not None]
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
        return any(ask.write for ask in self._asks.waited_for())

    def entries(self, reply: int) -> tuple[Entry, ...]:
        """Give what a draft's own history has of its tools: each request, then each result."""
        asks = [ask for ask in self._asks.of(reply) if ask.draft]
        requests = [ask.request() for ask in asks]
        return (*requests, *(ask.response() for ask in asks if ask.answered))

    # --- inside -------------------------------------------------------------------------------

    def _write(self, ask: Ask, caller: CallerTurn, now: float) -> Effects:
        """Run a write of a confirmed turn, unless it needs a yes that is not there, or ran."""
        assert ask.spec is not None
        if ask.name not in CALL_TOOLS:
            same = self._asks.same_deed(ask)
            ask.key = self._key(ask) if same is None else same.key
            if same is not None and same.state == "running":
                ask.state, ask.due = "waiting", now + ask.spec.timeout
                self._wait(now)
                return []
            if same is not None and same.outcome == "done":
                ask.finish({**same.true_result, "repeated": True}, "done", now)
                return []
        agreed = caller.heard_question and explicit_yes(caller.text, self.rules.language)
        if ask.spec.confirm and not agreed:
            ask.finish(NEEDS_YES, "refused", now)
            return []
        return self._start(ask, now)

    def _key(self, ask: Ask) -> str:
        before = len({deed.key for deed in self._asks.deeds(ask.name)})
        return write_key(self.rules.call_id, ask.name, ask.arguments, before)

    def _start(self, ask: Ask, now: float) -> Effects:
        assert ask.spec is not None
        ask.state, ask.started, ask.due = "running", now, now + ask.spec.timeout
        self._wait(now)
        if ask.name in CALL_TOOLS:
            return [Perform(ask.run, ask.reply, ask.name, ask.arguments)]
        return [RunTool(ask.run, ask.name, ask.arguments, ask.key, ask.spec.timeout)]

    def _late(self, ask: Ask) -> Effects:
        """Tell what came of a write for which the model had a placeholder."""
        when = "after the caller had gone on" if ask.stale else "late"
        said = json.dumps(ask.true_result, ensure_ascii=False, default=str)
        text = f"The tool {ask.name} finished {when} ({ask.outcome}): {said}"
        note = Entry("note", text, ask.run, ask.name, ask.true_result)
        return [TellModel(text), Remember(note)]

    def _settle(self, now: float) -> Effects:
        """Answer each round of which everything is known and nothing more can come."""
        effects: Effects = []
        for reply in self._asks.replies():
            asks = self._asks.unanswered(reply)
            if not all(ask.ready for ask in asks) or now < self._asks.round(reply).last + BURST:
                continue
            over = any(ask.last_straw for ask in asks)
            effects += [Remember(ask.response()) for ask in asks if not ask.draft]
            effects += [self._answer(ask, proceed=ask is asks[-1] and not over) for ask in asks]
            effects += [GiveUp(reply)] if over else []
            self._asks.next_round(reply)
        self._wait(now)
        return effects

    def _answer(self, ask: Ask, *, proceed: bool) -> Answer:
        ask.answered = True
        return Answer(
            ask.reply,
            ask.of.asked.ask,
            ask.name,
            ask.result,
            ask.outcome,
            proceed,
            ask.draft,
            ask.seconds,
        )

    def _wait(self, now: float) -> None:
        self._filler.wait(bool(self._asks.waited_for()), now)
