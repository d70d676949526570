"""What a session that takes over from another one is given: sound, an open turn, what was said.

A session is renewed in the middle of a call, while the caller may begin to speak, go on speaking,
or have just been promised an answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from gateway.events import (
    AgentAudio,
    BackendCommand,
    CancelReply,
    Disregard,
    Entry,
    Listen,
    ReplyEnded,
    Respond,
    ToolAsked,
)
from gateway.ports import BackendEvent
from media.frame import AudioFrame

KEPT_FRAMES = 75
"""Sound from before anybody is known to speak: the gate needs up to half a second to be sure, and
soft onsets lie before that."""

LONGEST_TURN = 1500
"""Frames of a turn that is under way: half a minute."""

CHANGED = "The end of the conversation before this went as follows."

T = TypeVar("T")


class Carried:
    """Remembers what the present session was given and has not answered."""

    def __init__(self) -> None:
        self._recent: deque[AudioFrame] = deque(maxlen=KEPT_FRAMES)
        self._turn: deque[AudioFrame] | None = None
        self._listen: Listen | None = None
        self._owed: Respond | None = None

    def hear(self, frame: AudioFrame) -> None:
        """Take a frame of the caller's."""
        self._recent.append(frame)
        if self._turn is not None and self._owed is None:
            self._turn.append(frame)

    def perform(self, command: BackendCommand) -> None:
        """Take a command of the call."""
        match command:
            case Listen() if self._listen is None or self._owed is not None:
                self._listen, self._owed = command, None
                self._turn = deque(self._recent, maxlen=LONGEST_TURN)
            case Respond():
                self._owed = command
            case Disregard():
                self._forget()
            case CancelReply(reply=reply) if self._owed is not None and self._owed.reply == reply:
                self._forget()
            case _:
                pass

    def told(self, event: BackendEvent) -> None:
        """Take an event of the session: once it speaks, it has what it needs."""
        if isinstance(event, AgentAudio | ToolAsked | ReplyEnded) and self._owed is not None:
            self._forget()

    def give(
        self,
        hear: Callable[[AudioFrame], T],
        perform: Callable[[BackendCommand], T],
        *,
        written: bool,
    ) -> list[T]:
        """Give the next session what it needs; `written`: the words of the turn that is to be
        answered are in its history."""
        owed = self._owed
        if owed is not None and (written or owed.text or owed.again):
            return [*map(hear, self._recent), perform(replace(owed, again=not owed.text))]
        given = []
        if self._listen is not None and self._turn is not None:
            given += [perform(self._listen), *map(hear, self._turn)]
        else:
            given += [*map(hear, self._recent)]
        return given if owed is None else [*given, perform(owed)]

    def _forget(self) -> None:
        self._turn = self._listen = self._owed = None


def said_since(before: tuple[Entry, ...], now: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Return what a session that was told `before` does not know of what was said by now."""
    same = 0
    while same < min(len(before), len(now)) and before[same] == now[same]:
        same += 1
    news = now[same:]
    return (Entry("note", CHANGED), *news) if same < len(before) and news else news
