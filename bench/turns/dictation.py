"""Numbers, spellings, dates and addresses dictated in groups, with pauses between them.

No such recordings are to be had, so that the local voice speaks the groups; how long the pauses
are is taken, in turn, from what people make of them who read from a letter or think.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bench.turns.recordings import RATE, telephone
from inference.runtime import Runtime
from media.frame import Samples
from tts.hibari import Hibari
from turn.events import SpeechMoment, TurnEnded
from turn.offline import Ears, run
from turn.profile import PROFILES
from turn.taking import TurnSettings

PAUSES = (0.7, 1.5, 0.5, 2.0, 1.0, 2.5)
"""Seconds between groups."""

LEAD, TAIL = 0.6, 4.0

EDGE = 0.1
"""Seconds by which the end of a group is uncertain."""

TEXTS = {
    "phone": (
        "My number is|five five five|zero one two|seven eight four nine",
        "It's|four one five|five five five|two six seven one",
        "two one two|five five five|oh one nine eight",
        "three oh three|eight six|seven five three oh nine",
        "You can reach me at|six one seven|five five five|zero one|four three",
        "six five zero|two five three|zero zero zero zero",
        "nine one seven|five five five|three four six six",
        "Sure, it's|eight zero eight|five five five|one one seven two",
        "seven zero two|five five|five eight|nine one three one",
        "five|zero|three|five five five|two two one six",
    ),
    "spelling": (
        "S M|I T H",
        "It's Garcia|G A R|C I A",
        "K O|W A L|S K I",
        "B as in boy|A U|E R",
        "N G U|Y E N",
        "Thompson, that's|T H O M P|S O N",
        "R|O|D R I|G U E Z",
        "M C|D O N|A L D",
        "Schmidt|S C H|M I D T",
        "W I L|L I A M S",
    ),
    "date": (
        "March|the fourteenth|nineteen eighty five",
        "It was the|third of|October",
        "July fourth|nineteen ninety",
        "the twenty second of|January|two thousand and one",
        "November|the ninth|nineteen seventy two",
        "I was born on|May|the thirtieth|nineteen sixty eight",
        "Monday the|sixteenth of June",
        "August|twenty third|two thousand and four",
        "on the|first of|December",
        "February the|eleventh|nineteen fifty nine",
    ),
    "address": (
        "forty two|Maple Street|Springfield|six two seven oh four",
        "It's one hundred|Park Avenue|New York|one zero zero one seven",
        "twelve|Oak Lane|apartment three|Portland|nine seven two oh one",
        "seven eighty|Lake Road|Chicago|six oh six one one",
        "I live at|nineteen|River Drive|Austin|seven eight seven oh one",
        "john dot smith|at|gmail dot com",
        "anna|underscore|miller at|yahoo dot com",
        "it's info|at|green house dot org",
        "p dot jones|at hotmail|dot com",
        "mary two thousand|at|outlook dot com",
    ),
}
"""Groups by what they are; the agent has asked for it."""

YEARS = ("nineteen", "two")
"""What a year begins with: a date with one is a date of birth."""


@dataclass(frozen=True, slots=True)
class Dictated:
    """One form as it was dictated, in the telephone band; seconds."""

    kind: str
    expects: str
    groups: tuple[str, ...]
    samples: Samples
    ends: tuple[float, ...]
    "where each group ends"


def dictations(runtime: Runtime) -> Iterator[Dictated]:
    """Speak all forms."""
    voice = Hibari(runtime)
    number = 0
    for kind, texts in TEXTS.items():
        for text in texts:
            groups = tuple(text.split("|"))
            pauses = [PAUSES[(number + index) % len(PAUSES)] for index in range(len(groups))]
            number += len(groups)
            dated = kind == "date" and groups[-1].startswith(YEARS)
            expects = "birth_date" if dated else "email" if "dot" in text else kind
            yield _spoken(voice, kind, expects, groups, pauses)


@dataclass(frozen=True, slots=True)
class Dictations:
    """What a profile did with the forms; seconds after the last group."""

    profile: str
    forms: int
    inside: int
    "ended between two groups"
    median: float
    p95: float


def by_profile(runtime: Runtime, ears: Ears) -> list[Dictations]:
    """Measure the profiles that hear forms."""
    forms = list(dictations(runtime))
    return [dictated(forms, ears, name) for name in ("default", "digits")]


def dictated(forms: Sequence[Dictated], ears: Ears, profile: str) -> Dictations:
    """Take all forms, each of them asked for; one that did not end counts with all its tail."""
    late, inside = [], 0
    for each in forms:
        asked = [(0, SpeechMoment(each.expects))]
        found = run(each.samples, RATE, ears, TurnSettings(PROFILES[profile]), others=asked)
        end = found.first(TurnEnded)
        if end is not None and end.at < each.ends[-1] - EDGE:
            inside += 1
        else:
            late.append(TAIL if end is None else end.at - each.ends[-1])
    median, p95 = (float(np.percentile(late, share)) for share in (50, 95))
    return Dictations(profile, len(forms), inside, median, p95)


def _spoken(
    voice: Hibari, kind: str, expects: str, groups: tuple[str, ...], pauses: list[float]
) -> Dictated:
    parts = [np.zeros(int(LEAD * RATE), np.int16)]
    ends = []
    for index, group in enumerate(groups):
        last = index == len(groups) - 1
        sound = voice.render(_written(group), RATE, goes_on=not last)
        pcm = _trimmed(np.frombuffer(sound.pcm, "<i2"))
        parts.append(pcm)
        ends.append(sum(len(part) for part in parts) / RATE)
        parts.append(np.zeros(int((TAIL if last else pauses[index]) * RATE), np.int16))
    return Dictated(kind, expects, groups, telephone(np.concatenate(parts), RATE), tuple(ends))


def _written(group: str) -> str:
    """Write single letters so that they are named."""
    words = [f"{word}." if len(word) == 1 and word.isupper() else word for word in group.split()]
    return " ".join(words)


def _trimmed(samples: Samples) -> Samples:
    """Cut off silence at both ends."""
    loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > 150)
    return samples[loud[0] : loud[-1] + 1] if len(loud) else samples
