"""The writes at work: begun one after another, told of when they are late, and given up at last."""

from __future__ import annotations

import json

from gateway.call.tools.asks import Asks
from gateway.call.tools.deeds import MOST_SECONDS, Deed, Deeds
from gateway.call.tools.wants import (
    STILL_RUNNING,
    UNCERTAIN,
    DeskEffect,
    Effects,
    GoOn,
    Perform,
    Remember,
    TellModel,
)
from gateway.events import Entry, RunTool, ToolAnswered
from gateway.ports import ToolSpec
from gateway.tools.builtins import CALL_TOOLS


class AtWork:
    """Works off the queue of deeds, and gives their outcomes to the requests that wait for them."""

    def __init__(self, deeds: Deeds, asks: Asks) -> None:
        self._deeds = deeds
        self._asks = asks

    def begin(self, now: float) -> Effects:
        """Begin the write whose turn it is."""
        deed = self._deeds.next()
        if deed is None:
            return []
        deed.state, deed.started = "running", now
        if deed.name in CALL_TOOLS:
            return [Perform(deed.run, deed.name, deed.arguments)]
        return [_run(deed)]

    def answered(self, event: ToolAnswered, now: float) -> Effects:
        """Take a tool's answer."""
        deed = self._deeds.find(event.ask)
        if deed is None:
            return []  # of a read that was stopped, or of a draft that was thrown away
        deed.finish(event.result, event.outcome, now)
        effects = self._over(deed, now)
        deed.given_up = False
        return effects

    def time_passed(self, now: float) -> Effects:
        """Tell of what is late, and give up what is not heard of any more."""
        effects: Effects = []
        for deed in self._deeds.unfinished():
            effects += self._overdue(deed, now)
        return effects

    def call_ended(self) -> Effects:
        """The call is over: what is left is done, in its order."""
        effects: Effects = []
        for deed in self._deeds.unfinished():
            if deed.state == "queued" and deed.name not in CALL_TOOLS:
                deed.state = "running"
                effects.append(_run(deed))
        return effects

    def follow(self, run: str, reply: int) -> None:
        """A reply answers the turn in which the caller said yes to a deed, or tells of it."""
        for deed in self._deeds:
            if deed.run == run:
                deed.replies.add(reply)

    def moments(self) -> list[float]:
        """List the loop seconds at which `time_passed` is wanted."""
        left = self._deeds.unfinished()
        ends = [deed.started + MOST_SECONDS for deed in left if deed.state == "running"]
        return [*ends, *(deed.due for deed in left if deed.due is not None)]

    def waited_for(self) -> list[ToolSpec]:
        """List the tools that a caller waits for."""
        return [deed.spec for deed in self._deeds.unfinished() if not deed.late]

    @property
    def busy(self) -> bool:
        """A write is under way, or is about to be: the call is not ended over it."""
        return bool(self._deeds.unfinished())

    def _over(self, deed: Deed, now: float) -> Effects:
        """Return a write's outcome to those who wait for it, and begin the next one."""
        waiting = self._asks.waiting_for(deed)
        for at, ask in enumerate(waiting):
            ask.finish({**deed.result, "repeated": True} if at else deed.result, deed.outcome, now)
        effects: Effects = []
        if deed.late or deed.given_up:
            deed.late = True
            effects.append(Remember(Entry("note", _said(deed), deed.run, deed.name, deed.result)))
            effects += self._tell(deed, f"finished late ({deed.outcome})")
        elif not waiting:  # it was agreed to, and the model did not ask for it again
            pair = Entry("tool_result", ask=_id(deed), name=deed.name, data=deed.result)
            effects += [*_entered(deed), Remember(pair), *self._tell(deed, f"is {deed.outcome}")]
        return effects + self.begin(now)

    def _overdue(self, deed: Deed, now: float) -> Effects:
        if deed.state == "running" and now >= deed.started + MOST_SECONDS:
            deed.finish(UNCERTAIN, "uncertain", now)
            deed.given_up = True
            return self._over(deed, now)
        if deed.due is not None and deed.due <= now:
            deed.due = None
            if not deed.late:
                deed.late = True
                pair = Entry("tool_result", ask=_id(deed), name=deed.name, data=STILL_RUNNING)
                return [*_entered(deed), Remember(pair), *self._tell(deed, "takes its time")]
        return []

    def _tell(self, deed: Deed, what: str) -> Effects:
        """Tell of a write for which no request of the model waits; what acts on the call shows."""
        if deed.name in CALL_TOOLS:
            return []
        said = json.dumps(deed.result, ensure_ascii=False, default=str)
        text = f"The tool {deed.name} {what}: {said}"
        outcome = deed.outcome if deed.state == "over" else "timeout"
        return [TellModel(text), GoOn(deed.run, deed.name, outcome, deed.result, deed.seconds)]


def _run(deed: Deed) -> RunTool:
    return RunTool(deed.run, deed.name, deed.arguments, deed.key, deed.spec.timeout)


def _id(deed: Deed) -> str:
    """Return the id of the request that stands in the history for a deed the caller agreed to."""
    return f"{deed.run}-yes"


def _entered(deed: Deed) -> list[DeskEffect]:
    return [Remember(Entry("tool_ask", ask=_id(deed), name=deed.name, data=deed.arguments))]


def _said(deed: Deed) -> str:
    said = json.dumps(deed.result, ensure_ascii=False, default=str)
    return f"The tool {deed.name} finished late ({deed.outcome}): {said}"
