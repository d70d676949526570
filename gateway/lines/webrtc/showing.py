"""What the page is shown of a call: the agent's state and both sides' words, as they were heard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from gateway.lines.webrtc.channel import Caption, Message, State, Tool

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
        """Say what the agent is doing, where that is news."""
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

    def observe(self, event: str, fields: Mapping[str, Any]) -> list[Message]:
        """Take an event of the call."""
        match event:
            case "agent_began":
                self._sounding = True
            case "agent_fell":
                self._sounding = False
            case "turn_ended":
                self._owed = int(fields.get("turn", 0))
            case "turn":
                self._answered = max(self._answered, int(fields.get("turn", 0)))
            case "caller_spoke":
                return [*self._caller(fields), *self.state()]
            case "agent_spoke" | "interrupted":
                return [*self._agent(event, fields), *self.state()]
            case "tool":
                return self._tool(fields)
            case _:
                return []
        return self.state()

    def _caller(self, fields: Mapping[str, Any]) -> list[Message]:
        text = str(fields.get("text", ""))
        if not text:
            self._answered = max(self._answered, self._owed)  # there was nothing to answer
            return []
        turn = int(fields.get("turn", 0))
        self._owed = max(self._owed, turn)
        return [Caption(who="caller", id=turn, text=text, final=True)]

    def _agent(self, event: str, fields: Mapping[str, Any]) -> list[Message]:
        utterance = int(fields.get("utterance", 0))
        shown = self._captions.pop(utterance, "")
        cut = event == "interrupted"
        if cut:
            self._sounding = False
            self._answered = max(self._answered, self._owed)  # the caller has the floor
        text = str(fields.get("heard_text" if cut else "text", ""))
        if not text and not shown:
            return []
        return [Caption(who="agent", id=utterance, text=text, final=True, interrupted=cut)]

    def _tool(self, fields: Mapping[str, Any]) -> list[Message]:
        """Tell of tools that run for a turn that is over; a draft may never have been."""
        name, outcome = str(fields.get("name", "")), str(fields.get("outcome", ""))
        if outcome == "asked":
            if fields.get("drafted"):
                return []
            self._tools.add(name)
            return [Tool(name=name, state="began")]
        if name not in self._tools:
            return []
        self._tools.discard(name)
        return [Tool(name=name, state="done" if outcome == "done" else "failed")]
