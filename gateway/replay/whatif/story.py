"""What a call did, read from its records: the turns, how they were answered, and the manners."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from gateway.replay import records
from gateway.replay.file import CallJournal
from gateway.replay.records import Did, Record

CONTINUES = 0.4
"""Seconds after the agent has begun within which who speaks had not finished: nobody answers what
they have heard so little of."""

TAIL = 0.2
"""Seconds after the last voiced sample that may still sound like voice to the model."""

WINDOWS = 3
"""Of voice that are more than a click: 0.1 s."""

VOICED = 0.5
"""Score from which a window holds voice."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of the caller, and the answer to it; seconds of the recording's clock."""

    number: int
    end: float
    "the last voiced sample"
    why: str
    heard: float | None
    "when the answer began to be heard; None: it was not, or not on the judged part"
    response: float | None
    drafted: bool
    cut_short: bool
    "the caller had not finished: they spoke on before they could have answered to anything"


@dataclass(frozen=True, slots=True)
class Overlap:
    """A sound of the caller over the agent's, and what it was taken for."""

    start: float
    at: float
    kind: Literal["claim", "no claim"]


@dataclass(frozen=True, slots=True)
class Sounded:
    """The agent began to be heard."""

    at: float
    utterance: int
    kind: str
    turn: int


@dataclass
class Story:
    """All of it, in order."""

    turns: list[Turn] = field(default_factory=list)
    overlaps: list[Overlap] = field(default_factory=list)
    sounded: list[Sounded] = field(default_factory=list)
    cut_ins: list[float] = field(default_factory=list)
    backchannels: list[float] = field(default_factory=list)
    "and other sounds over which the agent talked on"
    drafts: list[float] = field(default_factory=list)
    drafts_used: list[float] = field(default_factory=list)
    model_calls: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Clock:
    """Where a record and a position of the caller's sound are on the recording's clock."""

    time: Callable[[float], float]
    place: Callable[[int], float]


def clock_of(journal: CallJournal) -> Clock:
    """Return the clock of a recording itself."""
    offset, rate = sound_began(journal), journal.header.info.rate
    return Clock(lambda t: t, lambda position: offset + position / rate)


def sound_began(journal: CallJournal) -> float:
    """Return when the first sample of the caller's sound was spoken."""
    rate = journal.header.info.rate
    heard = (each for each in journal.records if isinstance(each, records.Voice))
    return min((each.t - each.end / rate for each in heard), default=0.0)


class Voicing:
    """When the caller made a sound, on the recording's clock."""

    def __init__(self, journal: CallJournal) -> None:
        offset, rate = sound_began(journal), journal.header.info.rate
        self._ends = [
            offset + each.end / rate
            for each in journal.records
            if isinstance(each, records.Voice) and each.probability >= VOICED
        ]

    def between(self, since: float, until: float) -> bool:
        """Return whether they made more than a click in between."""
        return sum(since < end <= until for end in self._ends) >= WINDOWS

    def goes_on(self, end: float, heard: float) -> bool:
        """Return whether they went on after a turn that ended, whatever its answer was."""
        return self.between(end + TAIL, heard + CONTINUES)


@dataclass(frozen=True, slots=True)
class Past:
    """A recording, read."""

    story: Story
    voicing: Voicing

    @staticmethod
    def of(journal: CallJournal) -> Past:
        """Read it."""
        voicing = Voicing(journal)
        return Past(read(journal.records, clock_of(journal), voicing), voicing)

    @property
    def sounded(self) -> list[Sounded]:
        """Return when the agent began to be heard, fillers left out."""
        return [each for each in self.story.sounded if each.kind != "filler"]

    def end_of(self, sounded: Sounded) -> float | None:
        """Return where the turn ended that was answered."""
        return next((t.end for t in self.story.turns if t.number == sounded.turn), None)

    def goes_on(self, sounded: Sounded) -> bool:
        """Return whether the caller went on at once, having heard nothing of the answer."""
        end = self.end_of(sounded)
        return end is not None and self.voicing.goes_on(end, sounded.at)


def read(noted: Iterable[Record], clock: Clock, voicing: Voicing) -> Story:
    """Read a call's records."""
    reader = _Reader(clock, voicing)
    for record in noted:
        if isinstance(record, Did):
            reader.take(record)
    return reader.story()


class _Reader:
    """Takes what a call did, in its order."""

    def __init__(self, clock: Clock, voicing: Voicing) -> None:
        self._clock = clock
        self._voicing = voicing
        self._story = Story()
        self._kinds = _Kinds()
        self._end = 0.0
        "of the latest turn"
        self._ended: dict[int, tuple[float, str]] = {}
        self._answers: dict[int, dict[str, Any]] = {}
        self._overlap = 0.0
        "where the present one began"
        self._calls: set[int] = set()

    def story(self) -> Story:
        """Return what was read."""
        self._story.sounded = self._kinds.all()
        self._story.turns = [
            _turn(number, ended, self._answers.get(number), self._voicing)
            for number, ended in self._ended.items()
        ]
        return self._story

    def take(self, record: Did) -> None:
        """Take the next."""
        at, fields = self._clock.time(record.t), record.fields
        match record.channel:
            case "told":
                self._told(record.name, at, fields)
            case "log":
                self._logged(record.name, at, fields)
            case "turn":
                self._turned(record.name, at, fields)
            case "backend" if record.name in ("Draft", "Respond", "AnswerTool"):
                self._asked(record.name, at, fields)
            case _:
                pass

    def _told(self, name: str, at: float, fields: dict[str, Any]) -> None:
        if name == "CallerTurnEnded":
            self._end = self._clock.place(fields["ended"]["end"])
        elif name == "AgentBeganSounding":
            self._kinds.began(fields["utterance"], max(at, self._clock.time(fields["when"])))

    def _logged(self, name: str, at: float, fields: dict[str, Any]) -> None:
        story = self._story
        match name:
            case "turn_ended":
                self._ended[fields["turn"]] = self._end, fields["why"]
            case "turn":
                self._answers[fields["turn"]] = fields
                self._kinds.turn(fields["turn"])
            case "agent_spoke":
                self._kinds.named(fields["utterance"], fields["kind"])
            case "interrupted":
                self._kinds.named(fields["utterance"], fields["kind"])
                story.cut_ins.append(at)
            case "backchannel" | "resumed":
                story.backchannels.append(at)
            case "draft" if fields["outcome"] == "started":
                story.drafts.append(at)
            case "draft" if fields["outcome"] == "used":
                story.drafts_used.append(at)
            case _:
                pass

    def _turned(self, name: str, at: float, fields: dict[str, Any]) -> None:
        overlaps = self._story.overlaps
        match name:
            case "OverlapBegan":
                self._overlap = self._clock.place(fields["start"])
            case "OverlapDismissed":
                overlaps.append(Overlap(self._overlap, at, "no claim"))
            case "FloorClaimed":
                overlaps.append(Overlap(self._clock.place(fields["start"]), at, "claim"))
            case _:
                pass

    def _asked(self, name: str, at: float, fields: dict[str, Any]) -> None:
        """Count a call of the model; a reply that is drafted already is none."""
        calls = self._story.model_calls
        if name == "AnswerTool":
            if fields["proceed"]:
                calls.append(at)
        elif fields["reply"] not in self._calls or fields.get("again"):
            self._calls.add(fields["reply"])
            calls.append(at)


def _turn(
    number: int,
    ended: tuple[float, str],
    answer: dict[str, Any] | None,
    voicing: Voicing,
) -> Turn:
    end, why = ended
    heard = None if answer is None else end + answer["response"]
    return Turn(
        number,
        end,
        why,
        heard,
        None if answer is None else answer["response"],
        answer is not None and answer["drafted"],
        heard is not None and voicing.goes_on(end, heard),
    )


class _Kinds:
    """Finds out what each utterance was that began to be heard."""

    def __init__(self) -> None:
        self._began: dict[int, float] = {}
        self._named: dict[int, str] = {}
        self._turns: dict[int, int] = {}
        self._last = 0

    def began(self, utterance: int, at: float) -> None:
        self._began.setdefault(utterance, at)
        self._last = utterance

    def turn(self, number: int) -> None:
        """The utterance that just began answers this turn."""
        self._turns[self._last] = number

    def named(self, utterance: int, kind: str) -> None:
        self._named[utterance] = kind

    def all(self) -> list[Sounded]:
        return [
            Sounded(at, each, self._named.get(each, "reply"), self._turns.get(each, 0))
            for each, at in self._began.items()
        ]


def until(times: Sequence[float], end: float) -> int:
    """Count what happened by a time."""
    return sum(each <= end for each in times)
