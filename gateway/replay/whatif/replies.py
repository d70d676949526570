"""The recording's own answers: each question that was asked, what came of it, and how long it took.

A question that was not asked then gets the answer of the nearest one that was, with a delay that
was measured in the same call; which it was is counted.
"""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.replay import records
from gateway.replay.file import CallJournal
from gateway.replay.records import AnyRecord, Did, Said

NEAR = 0.3
"""Seconds by which two ends of the same turn may differ: a window or two, and an edge moved."""

SOUNDS = ("AgentAudio", "UtteranceEnded", "ReplyEnded")
"""What comes only once a turn is confirmed."""


@dataclass(slots=True)
class Part:
    """What a model gave to one command, in its order."""

    asked: float
    "loop seconds at which work on it began"
    confirmed: float | None
    "when the turn was confirmed; None: it never was"
    utterance: int = 0
    said: list[Said] = field(default_factory=list)

    @property
    def first(self) -> float | None:
        """Return the delay of the first thing it gave."""
        return self.said[0].t - self.asked if self.said else None

    @property
    def whole(self) -> bool:
        """Return whether it came to its end."""
        return any(each.kind in ("ReplyEnded", "ToolAsked") for each in self.said)


@dataclass(slots=True)
class Reply:
    """A reply of the recording."""

    turn: int
    end: float
    "where the turn ended that it answers, seconds of the caller's sound"
    parts: list[Part]
    tools: dict[str, Part] = field(default_factory=dict)
    "what followed a tool's answer, by the question's id"


class Replies:
    """All replies of a call, and what stands in for those that it does not hold."""

    def __init__(
        self,
        journal: CallJournal,
        sources: Counter[str],
        delay: Callable[[], float] | None = None,
    ) -> None:
        """`delay` draws the first token's delay of every answer, in place of what was measured."""
        self._rate = journal.header.info.rate
        self._sources = sources
        self._delay = delay
        self._all = _replies(journal.records, self._rate)
        self._measured = [
            part.first
            for reply in self._all
            for part in reply.parts[:1]
            if part.first is not None and part.confirmed == part.asked
        ]

    def find(self, end: float, *, drafted: bool) -> Reply | None:
        """Return the reply to the turn that ended at `end`; else, of an answer that is wanted, the
        nearest other one."""
        near = [each for each in self._all if abs(each.end - end) <= NEAR and _spoken(each)]
        if near:
            self._sources["recording"] += not drafted
            return min(near, key=lambda each: abs(each.end - end))
        others = [each for each in self._all if _spoken(each)]
        if drafted or not others:
            return None
        self._sources["recording, of another question"] += 1
        later = [each for each in others if each.end >= end]
        return min(later or others, key=lambda each: abs(each.end - end))

    def delay_of(self, part: Part) -> float:
        """Return how long the first thing of an answer takes."""
        if self._delay is not None:
            self._sources["delay, drawn"] += 1
            return self._delay()
        if part.first is not None:
            return max(0.0, part.first)
        return statistics.median(self._measured) if self._measured else 0.0


def _spoken(reply: Reply) -> bool:
    return any(part.whole for part in reply.parts)


def _replies(found: Sequence[AnyRecord], rate: int) -> list[Reply]:
    replies: dict[int, Reply] = {}
    current: dict[int, Part] = {}
    for record in found:
        match record:
            case Did(channel="backend", name="Draft", fields=fields):
                part = Part(record.t, None)
                reply = Reply(fields["turn"], fields["end"] / rate, [part])
                replies[fields["reply"]], current[fields["reply"]] = reply, part
            case Did(channel="backend", name="Respond", fields=fields):
                number = fields["reply"]
                if number not in replies or fields["again"]:
                    part = Part(record.t, record.t)
                    replies[number] = Reply(fields["turn"], fields["end"] / rate, [part])
                    current[number] = part
                part = current[number]
                part.confirmed, part.utterance = record.t, fields["utterance"]
            case Did(channel="backend", name="AnswerTool", fields=fields):
                part = Part(record.t, record.t, fields["utterance"])
                if fields["reply"] in replies:
                    replies[fields["reply"]].tools[fields["ask"]] = part
                    current[fields["reply"]] = part
            case Said(kind=kind, fields=fields):
                _said(record, kind, fields, replies, current)
            case _:
                pass
    return list(replies.values())


def _said(
    record: Said,
    kind: str,
    fields: Mapping[str, Any],
    replies: Mapping[int, Reply],
    current: Mapping[int, Part],
) -> None:
    if "reply" in fields and kind != "BackendLost":
        part = current.get(fields["reply"])
    elif kind == "CallerWords" and fields["final"]:
        turn = fields["turn"]
        part = next((current[n] for n, reply in replies.items() if reply.turn == turn), None)
    else:
        part = None
    if part is not None:
        part.said.append(record)


@dataclass(frozen=True, slots=True)
class Question:
    """A question about the caller's sound that was answered then."""

    start: float
    end: float
    delay: float
    answer: Any


class Questions:
    """What was asked of one model, by the stretch of sound that it was asked about."""

    def __init__(self, found: Sequence[Question], chance: random.Random) -> None:
        self._found = list(found)
        self._chance = chance

    def same(self, start: float, end: float, within: float = 0.1) -> Question | None:
        """Return the one that was asked about the same sound."""
        near = [each for each in self._found if abs(each.end - end) <= within]
        return min(
            near, key=lambda each: (abs(each.start - start), abs(each.end - end)), default=None
        )

    def parts(self, start: float, end: float) -> list[Question]:
        """Return questions that together cover what they can of a stretch, from its start."""
        chosen: list[Question] = []
        reach = end + 0.2
        inside = [each for each in self._found if each.start >= start - 0.5]
        while fitting := [each for each in inside if each.end <= reach]:
            best = max(fitting, key=lambda each: (each.end, -each.start))
            chosen.insert(0, best)
            reach = best.start
        return chosen

    def delay(self) -> float:
        """Draw a delay of those that were measured."""
        return self._chance.choice(self._found).delay if self._found else 0.1


def judged(journal: CallJournal) -> list[Question]:
    """Return what the turn detector was asked."""
    rate = journal.header.info.rate
    return [
        Question(each.start / rate, each.at / rate, each.t - each.asked, each)
        for each in journal.records
        if isinstance(each, records.Judged)
    ]


def worded(journal: CallJournal) -> list[Question]:
    """Return what the recogniser was asked."""
    rate = journal.header.info.rate
    return [
        Question(each.start / rate, each.end / rate, each.t - each.asked, each)
        for each in journal.records
        if isinstance(each, records.Words) and not each.failure
    ]
