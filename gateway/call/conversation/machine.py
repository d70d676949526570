"""The course of one call, as a pure machine: events in, effects out, time as an argument.

What happens on the caller's side is in `caller_side`, on the agent's in `agent_side`, and what
happens to the call as a whole in `course`; all three read and change the one `CallState`.
"""

from __future__ import annotations

from gateway.call.conversation import agent_side, caller_side, course
from gateway.call.conversation.history import History
from gateway.call.conversation.state import CallState
from gateway.call.conversation.vocabulary import AgentSide, CallerSide, Effects, Event
from gateway.call.conversation.waits import Wait, Waits
from gateway.call.settings import ConversationSettings
from gateway.call.tools.desk import ToolDesk
from gateway.call.tools.wants import DeskRules
from gateway.events import CallInfo, Entry, KeepFloor
from gateway.ports import BackendTraits


class Conversation:
    """Decides what the agent says, stops saying and does; never waits, plays or asks itself."""

    def __init__(
        self,
        info: CallInfo,
        settings: ConversationSettings,
        traits: BackendTraits,
        history: tuple[Entry, ...] = (),
    ) -> None:
        tools = ToolDesk(DeskRules(info.call_id, settings.language, settings.lines.sure))
        self.state = CallState(info, settings, traits, tools, History(history), Waits(settings))
        self.served_by(traits)
        self._keeps = False
        "the floor is kept: while a write runs, and while a message is left"

    def served_by(self, traits: BackendTraits) -> None:
        """Go on with a backend that can do this."""
        self.state.traits = traits
        self.state.waits.hang_after(traits.hang_seconds)

    def handle(self, event: Event, now: float) -> Effects:
        """Take what happened and say what is to be done, in order."""
        if self.state.end.phase == "ended":
            return []
        effects = self._handle(event, now)
        keeps = self.state.tools.busy or self.state.screening.stage == "leaving"
        if keeps is not self._keeps:
            self._keeps = keeps
            effects.append(KeepFloor(keeps))
        return effects

    def _handle(self, event: Event, now: float) -> Effects:
        if isinstance(event, CallerSide):
            return caller_side.handle(self.state, event, now)
        if isinstance(event, AgentSide):
            return agent_side.handle(self.state, event, now)
        return course.handle(self.state, event, now)

    @property
    def deadline(self) -> float | None:
        """Loop seconds at which `TimePassed` is wanted next; None: nothing is waited for."""
        state = self.state
        waits = state.waits.deadline if state.hold.since is None else state.waits.due(Wait.LIMIT)
        ats = [at for at in (waits, state.tools.deadline) if at is not None]
        return min(ats, default=None)
