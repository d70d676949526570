"""One call's fault, at every place where foreign code or data enters, beside a neighbour's call.

Whatever happens in the one, the other's far end misses no frame and has none late; the one hears a
word and goes on or ends with one; its log has one `fault` that names the part, and nothing is left
behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.backends.cascade.cascade import CascadeSettings
from gateway.call.settings import ConversationSettings, FixedLines
from gateway.plumbing.fence import fenced_task
from gateway.plumbing.virtual_time import run
from media.playout import Chunk
from tests.support.cascade_call import Caller, Parts
from tests.support.cascade_parts import ClauseTones, LevelRecogniser, Sentences
from tests.support.faulty_parts import KINDS, Model, Recogniser, Voice, plain_failure

SETTINGS = ConversationSettings(lines=FixedLines(greeting="Hello."))
LONG = ConversationSettings(lines=FixedLines(greeting="one two three four five " * 20))
WITHIN = 2.0
"""Seconds within which the caller hears a word after a fault."""

PARTS = {
    "model before": "model",
    "model within": "model",
    "model after": "model",
    "voice before": "voice",
    "voice within": "voice",
    "voice after": "voice",
    "recogniser serves": "session",
    "recogniser feeds": "session",
    "recogniser writes": "recogniser",
}
"""Places, with the part that the log is to name."""

OWN = ("hearing", "recording", "page", "line")
"""Places in which what is raised is nobody's but ours: the call ends with a word."""

DATA = ("model data", "voice data", "recogniser data")
DATA_KINDS = ("garbage", "huge", "flood", "disorder")

IMMEDIATE = {"recogniser feeds"}
"""Places in which nothing can hang: whoever calls does not wait."""

CELLS = [
    (place, kind)
    for place in PARTS
    for kind in KINDS
    if not (kind == "hang" and place in IMMEDIATE)
    if not (place == "recogniser serves" and kind in ("hang", "stop"))  # serves as it should, ends
]


@dataclass
class Two:
    """A call that is to fail and one beside it, held together."""

    place: str = ""
    kind: str = ""
    heard: list[float] = field(default_factory=list)
    "seconds after which each answer to the faulty call's caller sounded"
    late: list[float] = field(default_factory=list)
    "between two frames of the other one"

    def __post_init__(self) -> None:
        sentences, quick = Sentences(), CascadeSettings(1.5, 1.5, 1.5, 1.5)
        recogniser = Recogniser(sentences, place=self.place, kind=self.kind)
        model, voice = Model(self.place, self.kind), Voice(self.place, self.kind)
        self.faulty = Caller(Parts(recogniser, model, voice, quick), sentences, SETTINGS)
        well = Parts(LevelRecogniser(sentences), Model("", ""), ClauseTones())
        self.well = Caller(well, sentences, LONG, "c2")
        self.well.leg.send = self._sent  # type: ignore[method-assign]
        self._times: list[float] = []

    def _sent(self, chunks: Sequence[Chunk]) -> None:
        if chunks:
            self._times.append(asyncio.get_running_loop().time())

    def hold(self, seconds: float = 25.0) -> None:
        """Hold both; the neighbour misses no frame and has none late, whatever happens."""
        with capture_logs():
            run(self._main(seconds))
        assert len(self._times) > 800
        assert max(later - before for before, later in pairwise(self._times)) < 0.025
        assert not self.well.log.of("fault")
        assert len(self.faulty.log.of("call_ended")) == 1

    async def _main(self, seconds: float) -> None:
        asyncio.get_running_loop().set_task_factory(fenced_task)

        async def listens(caller: Caller) -> None:
            await asyncio.sleep(seconds)

        async with asyncio.TaskGroup() as group:
            group.create_task(self.faulty.run(self._asks))
            group.create_task(self.well.run(listens))

    async def _asks(self, caller: Caller) -> None:
        await caller.hears()
        await caller.says("When do you open?", draft=None)
        since = caller.now()
        await caller.sound()
        self.heard.append(caller.now() - since)
        await asyncio.sleep(5)
        if not caller.call._over.is_set():
            await caller.says("And on Sunday?", draft=None)
            await asyncio.sleep(5)


@pytest.mark.parametrize(("place", "kind"), CELLS)
def test_a_fault_stays_where_it_happens(place: str, kind: str) -> None:
    two = Two(place, kind)
    two.hold()
    assert two.heard
    assert two.heard[0] < WITHIN
    assert [fault["part"] for fault in two.faulty.log.of("fault")] == [PARTS[place]]


@pytest.mark.parametrize("kind", DATA_KINDS)
@pytest.mark.parametrize("place", DATA)
def test_what_is_wrong_rather_than_missing_costs_no_call(place: str, kind: str) -> None:
    two = Two(place, kind)
    two.hold()
    assert two.heard
    assert two.heard[0] < WITHIN
    named = {fault["part"] for fault in two.faulty.log.of("fault")}
    assert named <= {place.partition(" ")[0], "session"}


class Breaks:
    """Does nothing, until it fails."""

    def __init__(self, kind: str, after: float) -> None:
        self._kind, self._after = kind, after
        self.witness = self

    def __getattr__(self, name: str) -> Any:
        def called(*values: object) -> None:
            if asyncio.get_running_loop().time() > self._after:
                plain_failure(self._kind)

        return called


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("hang", "stop")])
@pytest.mark.parametrize("place", OWN)
def test_what_is_nobodys_fault_but_ours_ends_its_call_with_a_word(place: str, kind: str) -> None:
    two = Two()
    call, leg, breaks = two.faulty.call, two.faulty.leg, Breaks(kind, 1006.0)
    match place:
        case "hearing":
            call._hearing.feed = breaks.feed  # type: ignore[method-assign]
        case "recording":
            call._track = breaks  # type: ignore[assignment]
        case "page":
            call._mouth._witness = breaks  # type: ignore[assignment]
        case _:
            leg.send = breaks.send  # type: ignore[method-assign]
    two.hold()
    assert [fault["part"] for fault in two.faulty.log.of("fault")] == ["gateway"]
    (ended,) = two.faulty.log.of("call_ended")
    assert (ended["ended_by"], ended["reason"]) == ("failure", "internal error")
