"""The model's utterances: which item each is, and how much of its sound came."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from gateway.backends.conversion import Conversion
from gateway.backends.realtime import wire
from gateway.events import AgentAudio, ReplyText, UtteranceEnded

KEPT = 16
"""Utterances whose late events are still known: more than can be queued behind one another."""


@dataclass(slots=True)
class _Utterance:
    item: str
    reply: int
    samples: int = 0
    "received, at the line's rate"
    text: str = ""


class Spoken:
    """Joins items and utterances; what belongs to none, or to one that was cut, is void."""

    def __init__(self, sound: Conversion, rate: int) -> None:
        """`rate` is the line's."""
        self._sound = sound
        self._rate = rate
        self._utterances: dict[int, _Utterance] = {}
        self._items: dict[str, int] = {}
        self._known: deque[int] = deque(maxlen=KEPT)
        "utterances that were begun here, the latest ones"

    def __contains__(self, number: int) -> bool:
        return number in self._known

    def begin(self, item: str, number: int, reply: int) -> None:
        """Enter an item as the utterance of this number."""
        self._items[item] = number
        self._known.append(number)
        self._utterances[number] = _Utterance(item, reply)
        for old in [item for item, n in self._items.items() if n < number - KEPT]:
            self._utterances.pop(self._items.pop(old), None)

    def cut(self, number: int, heard_seconds: float) -> tuple[str, int] | None:
        """Forget an utterance; give its item and the milliseconds of it that were heard.

        They are never more than was received: a longer truncation is an error.
        """
        utterance = self._utterances.pop(number, None)
        if utterance is None:
            return None
        self._sound.rest_to_line()  # the end of what is cut is not the beginning of another
        received = utterance.samples * 1000 // self._rate
        return utterance.item, min(int(heard_seconds * 1000), received)

    def sound(self, event: wire.AudioDelta) -> list[AgentAudio]:
        """Take sound of an item."""
        found = self._find(event.item_id)
        if found is None:
            return []
        number, said = found
        heard = self._sound.to_line(event.sound())
        said.samples += heard.samples
        return [AgentAudio(said.reply, number, heard.pcm, payload=heard.payload)]

    def text(self, event: wire.TranscriptDelta) -> list[ReplyText]:
        """Take words of an item."""
        found = self._find(event.item_id)
        if found is None:
            return []
        number, said = found
        said.text += event.delta
        return [ReplyText(said.reply, number, event.delta)]

    def end(self, event: wire.AudioDone) -> list[AgentAudio | UtteranceEnded]:
        """Take an item's end."""
        found = self._find(event.item_id)
        if found is None:
            return []
        number, said = found
        rest = self._sound.rest_to_line()
        said.samples += len(rest) // 2
        last = [AgentAudio(said.reply, number, rest)] if rest else []
        return [*last, UtteranceEnded(said.reply, number, said.text)]

    def _find(self, item: str) -> tuple[int, _Utterance] | None:
        number = self._items.get(item)
        said = self._utterances.get(number) if number is not None else None
        return None if number is None or said is None else (number, said)
