"""Runs many calls with settings that somebody asks about."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gateway.call.assembly import OpenDetector
from gateway.ports import Backend
from gateway.replay.file import CallJournal
from gateway.replay.whatif.changes import Change, applied, value_in
from gateway.replay.whatif.run import Means, Outcome, Unfit, run
from gateway.replay.whatif.words_file import WordTimes

Z95 = 1.645
"""Of the normal distribution: one in twenty is above."""


@dataclass(frozen=True, slots=True)
class Delays:
    """How long a model takes to answer: a log-normal distribution, as delays of networks are."""

    median: float
    tail: float
    "seconds that one answer in twenty exceeds"

    @staticmethod
    def parse(text: str) -> Delays:
        """Read `MEDIAN` or `MEDIAN,95TH`, in seconds; raises ValueError."""
        median, _, tail = text.partition(",")
        try:
            found = Delays(float(median), float(tail or median))
        except ValueError:
            found = Delays(-1.0, -1.0)
        if not 0 < found.median <= found.tail <= 60:
            raise ValueError(
                f"found {text!r}, it must be MEDIAN or MEDIAN,95TH in seconds, as in 0.4,0.9"
            )
        return found

    def drawn(self, chance: random.Random) -> Callable[[], float]:
        """Return what draws delays."""
        spread = math.log(self.tail / self.median) / Z95
        return lambda: chance.lognormvariate(math.log(self.median), spread)


@dataclass(frozen=True, slots=True)
class Resources:
    """What answers questions that recordings do not hold."""

    detector: Callable[[int], OpenDetector] | None = None
    "the model that judges turns, by the line's rate"
    busy: Callable[[], bool] = lambda: False
    delays: Delays | None = None
    words: Mapping[str, WordTimes] | None = None
    "by the calls' names"
    live: Callable[[str, str], Backend] | None = None
    "makes a backend of an agent"


def outcomes(
    journals: Sequence[CallJournal],
    changes: Sequence[Change],
    resources: Resources,
    refused: Callable[[CallJournal, str], None],
) -> Iterator[Outcome]:
    """Run each call; `refused` is told of those that cannot answer, and why."""
    for journal in journals:
        try:
            yield run(journal, applied(journal.header, changes), _means(journal, resources))
        except Unfit as error:
            refused(journal, str(error))


def today(journals: Sequence[CallJournal], name: str) -> str:
    """Return what a setting was in most recordings, as it is written; empty: in none."""
    values = [str(Change(name, value_in(each.header, name))) for each in journals]
    return max(values, key=values.count).partition("=")[2] if values else ""


def _means(journal: CallJournal, resources: Resources) -> Means:
    header, chance = journal.header, random.Random(f"{journal.header.call} delays")
    words = resources.words
    found = None
    if words is not None:
        found = words.get(header.call) or words.get("")
        if found is None:
            raise Unfit("--words holds no word of it")
    means = Means(
        None if resources.detector is None else resources.detector(header.info.rate),
        resources.busy,
        None if resources.delays is None else resources.delays.drawn(chance),
        found,
    )
    live, agent = resources.live, header.info.agent
    return means if live is None else replace(means, backend=lambda name: live(agent, name))
