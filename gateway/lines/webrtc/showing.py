"""What the page is shown of a call: the agent's state and both sides' words, as they were heard."""

from __future__ import annotations

from typing import Literal

from gateway.lines.webrtc.channel import Caption, Message, Proposal, State, Tool
from gateway.log_events import (
    AgentSpokeLogged,
    CallerSpokeLogged,
    InterruptedLogged,
    LogEvent,
    ToolLogged,
    TurnEndedLogged,
    TurnLogged,
)

Doing = Literal["listening", "thinking", "speaking", "waiting"]


class Showing:
    """Makes messages of what happens in a call; never shows what was not heard."""

    def __init__(self) -> None:
        self._shown: Doing | None = None
        self._sounding = False
        self._away = False
        self._answered = 0
        "latest turn of which an answer was heard"
        self._owed = 0
        "latest turn that waits for its answer; 0: none does"
        self._captions: dict[int, str] = {}
        "what is shown of utterances that are being heard"
        self._tools: set[str] = set()
        "that were shown to have begun"

    def state(self) -> list[Message]:
        """Return what the agent is doing, where that is news."""
        doing: Doing = "listening"
        if self._away:
            doing = "waiting"
        elif self._sounding:
            doing = "speaking"
        elif self._owed > self._answered:
            doing = "thinking"
        if doing == self._shown:
            return []
        self._shown = doing
        return [State(state=doing)]

    def again(self) -> list[Message]:
        """Say it although it is no news: the page has only just begun to listen."""
        self._shown = None
        return self.state()

    def away(self, is_away: bool) -> list[Message]:
        """Take that the connection broke, or is back."""
        self._away = is_away
        return self.state()

    def caption(self, utterance: int, text: str) -> list[Message]:
        """Take how much of an utterance was heard by now."""
        if len(text) <= len(self._captions.get(utterance, "")):
            return []  # where word times are estimates, they may go back
        self._captions[utterance] = text
        return [Caption(who="agent", id=utterance, text=text)]

    def sounding(self, is_sounding: bool) -> list[Message]:
        """Take that the caller hears the agent, or hears it no more."""
        self._sounding = is_sounding
        return self.state()

    def observe(self, event: LogEvent) -> list[Message]:
        """Take a line of the call log."""
        match event:
            case TurnEndedLogged(turn=turn):
                self._owed = turn
            case TurnLogged(turn=turn):
                self._answered = max(self._answered, turn)
            case CallerSpokeLogged():
                return [*self._caller(event), *self.state()]
            case AgentSpokeLogged(utterance=utterance, text=text):
                return [*self._agent(utterance, text), *self.state()]
            case InterruptedLogged(utterance=utterance, heard_text=text):
                self._sounding = False
                self._answered = max(self._answered, self._owed)  # the caller has the floor
                return [*self._agent(utterance, text, cut=True), *self.state()]
            case ToolLogged():
                return self._tool(event)
            case _:
                return []
        return self.state()

    def _caller(self, spoke: CallerSpokeLogged) -> list[Message]:
        if not spoke.text:
            self._answered = max(self._answered, self._owed)  # there was nothing to answer
            return []
        turn = spoke.turn or 0
        self._owed = max(self._owed, turn)
        return [Caption(who="caller", id=turn, text=spoke.text, final=True)]

    def _agent(self, utterance: int, text: str, *, cut: bool = False) -> list[Message]:
        shown = self._captions.pop(utterance, "")
        if not text and not shown:
            return []
        return [Caption(who="agent", id=utterance, text=text, final=True, interrupted=cut)]

    def _tool(self, tool: ToolLogged) -> list[Message]:
        """Tell of tools that run for a turn that is over; a draft may never have been."""
        if tool.outcome == "asked":
            if tool.drafted:
                return []
            self._tools.add(tool.name)
            return [Tool(name=tool.name, state="began")]
        run = tool.ask or ""
        if tool.outcome == "proposed":
            self._tools.discard(tool.name)
            return [Proposal(id=run, text=tool.question or "", state="asked")]
        if tool.outcome == "agreed":
            self._tools.add(tool.name)
            over = Proposal(id=run, state="over")
            return [over, Tool(name=tool.name, state="began")]
        if tool.outcome in ("declined", "lapsed"):
            return [Proposal(id=run, state="over")]
        if tool.name not in self._tools:
            return []
        self._tools.discard(tool.name)
        return [Tool(name=tool.name, state="done" if tool.outcome == "done" else "failed")]
