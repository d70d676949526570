"""A backend that gives the recording's own answers, when it is asked for them now."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, assert_never, get_args

from gateway.events import (
    AnswerTool,
    BackendCommand,
    CancelReply,
    Disregard,
    Draft,
    DropDraft,
    Inform,
    Listen,
    Respond,
    Truncate,
)
from gateway.ports import BackendEvent, BackendStart, BackendTraits
from gateway.replay import records
from gateway.replay.records import Said, event_of
from gateway.replay.whatif.ports import Recognised
from gateway.replay.whatif.replies import SOUNDS, Part, Replies, Reply
from gateway.replay.whatif.timeline import Timeline
from media.frame import AudioFrame

EVENTS = {kind.__name__: kind for kind in get_args(BackendEvent)}


@dataclass(slots=True)
class Work:
    """A reply under way."""

    turn: int
    number: int
    reply: Reply | None
    confirmed: asyncio.Event
    task: asyncio.Task[None] | None = None
    confirmed_at: float = 0.0
    utterance: int = 0
    ids: dict[int, int] | None = None
    "utterances by their numbers of then"


class RecordedModel:
    """Answers with what was answered then, as long after the question as then."""

    def __init__(
        self,
        traits: BackendTraits,
        replies: Replies,
        words: Recognised,
        timeline: Timeline,
        advised: tuple[records.Advised, ...],
    ) -> None:
        self.traits = traits
        self.emit: Callable[[BackendEvent], None] | None = None
        self._replies = replies
        self._words = words
        self._timeline = timeline
        self._advised = advised
        self._start: BackendStart | None = None
        self._work: dict[int, Work] = {}
        self._group: asyncio.TaskGroup | None = None
        self._early: deque[BackendCommand] = deque()

    async def run(self, start: BackendStart, emit: Callable[[BackendEvent], None]) -> None:
        """Serve until cancelled."""
        self._start, self.emit = start, emit
        async with asyncio.TaskGroup() as group:
            self._group = group
            while self._early:
                self.perform(self._early.popleft())
            await asyncio.Event().wait()

    def hear(self, frame: AudioFrame) -> None:
        """Hear nothing: what was said is known."""

    def perform(self, command: BackendCommand) -> None:
        """Begin what is asked."""
        if self._group is None:
            self._early.append(command)
            return
        match command:
            case Draft():
                found = self._replies.find(self._timeline.then(command.end), drafted=True)
                self._begin(Work(command.turn, command.reply, found, asyncio.Event()), found)
            case Respond():
                self._respond(command)
            case AnswerTool(proceed=True, reply=number, ask=ask):
                work = self._work.get(number)
                if work is not None and work.reply is not None and ask in work.reply.tools:
                    work.utterance, work.ids = command.utterance, None
                    self._spawn(work, work.reply.tools[ask])
            case CancelReply(reply=number) | DropDraft(reply=number):
                work = self._work.pop(number, None)
                if work is not None and work.task is not None:
                    work.task.cancel()
            case AnswerTool() | Listen() | Disregard() | Truncate() | Inform():
                pass
            case _:
                assert_never(command)

    def _respond(self, command: Respond) -> None:
        work = self._work.get(command.reply)
        if work is None or work.reply is None:
            end = self._timeline.then(command.end)
            found = self._replies.find(end, drafted=False)
            confirmed = asyncio.Event()
            work = Work(command.turn, command.reply, found, confirmed)
            self._begin(work, found)
        else:
            self._replies.find(self._timeline.then(command.end), drafted=False)  # counted
        work.utterance = command.utterance
        work.confirmed_at = asyncio.get_running_loop().time()
        work.confirmed.set()

    def _begin(self, work: Work, reply: Reply | None) -> None:
        self._work[work.number] = work
        if reply is not None:
            self._spawn(work, next(part for part in reply.parts if part.whole))

    def _spawn(self, work: Work, part: Part) -> None:
        assert self._group is not None
        work.task = self._group.create_task(self._give(work, part))

    async def _give(self, work: Work, part: Part) -> None:
        """Give an answer: its words at once, its sound once the turn is confirmed."""
        loop = asyncio.get_running_loop()
        begun = loop.time() + self._replies.delay_of(part)
        first = part.asked + (part.first or 0.0)
        sounding = False
        for said in part.said:
            if said.kind in SOUNDS and not sounding:
                await work.confirmed.wait()
                # Then too the voice had to wait for both: the words and the turn's end.
                first = max(first, part.confirmed or first)
                begun, sounding = max(work.confirmed_at, begun), True
            await asyncio.sleep(max(0.0, begun + said.t - first - loop.time()))
            self._tell(work, said)

    def _tell(self, work: Work, said: Said) -> None:
        fields: dict[str, Any] = dict(said.fields)
        if "reply" in fields:
            fields["reply"] = work.number
        if "turn" in fields:
            fields["turn"] = work.turn
        if fields.get("utterance"):
            fields["utterance"] = self._utterance(work, fields["utterance"])
        if self.emit is not None:
            self.emit(event_of(EVENTS, said.kind, fields))

    def _utterance(self, work: Work, then: int) -> int:
        """Return the number of an utterance of now: the first is the conversation's."""
        if work.ids is None:
            work.ids = {then: work.utterance}
        if then not in work.ids:
            assert self._start is not None
            work.ids[then] = self._start.next_utterance()
        return work.ids[then]

    async def words(self, start: int, end: int) -> str | None:
        """Answer from the recording."""
        return await self._words.words(start, end)

    def done(self, at: int) -> float | None:
        """Return the judgement of then of the same pause."""
        rate = self._start.info.rate if self._start is not None else 8000
        then = self._timeline.then(at)
        near = [each for each in self._advised if abs(each.at / rate - then) <= 0.1]
        return near[0].probability if near else None
