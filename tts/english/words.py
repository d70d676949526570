"""Short forms of English words, and letters that are said one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tts.english.tables import (
    BEFORE_NUMBERS,
    LETTERED,
    SHORT,
    SPELLED,
    STREETS,
    TITLES,
    either,
)
from tts.normalise import Part, Rule

_LETTER_AFTER = re.compile(rf"\b(?:{either(LETTERED)})\s+$", re.IGNORECASE)
_LETTER_BEFORE = re.compile(r"(?<!\w)[B-HJ-Z],?\s+$")
_LETTER_NEXT = re.compile(r",?\s+[B-HJ-Z](?![\w'’])")
_CAPITALISED = re.compile(r"(?:^|\s)(?:[A-Z][\w'’-]*|\d+(?:st|nd|rd|th)?)\s+$")
_STARTS_SENTENCE = re.compile(r"\s+[\"'“‘(]?[A-Z]|\s*$")


def letters(written: str) -> str:
    """Name the letters of a word one by one; digits are said."""
    return " ".join(f"{each.upper()}." if each.isalpha() else each for each in written)


def ends_sentence(match: re.Match[str]) -> bool:
    """Return whether the full stop of a short form is the sentence's, too."""
    return _STARTS_SENTENCE.match(match.string, match.end()) is not None


def _pause(match: re.Match[str]) -> str:
    return "." if ends_sentence(match) else ""


def _title(match: re.Match[str]) -> Sequence[Part] | None:
    """`Dr. Smith` and `Oak Dr.`: what stands on which side decides."""
    short, name_follows = match[1], match[2] is not None
    after_name = _CAPITALISED.search(match.string[: match.start()]) is not None
    stop = match.start(1) + len(short)
    if short in STREETS and after_name:
        ends = _STARTS_SENTENCE.match(match.string, stop) is not None
        return [Part(stop, STREETS[short], "." if ends else "")]
    if short in TITLES and name_follows:
        return [Part(stop, TITLES[short])]
    return [Part(stop, STREETS[short])] if short in STREETS and short not in TITLES else None


def _short(match: re.Match[str]) -> Sequence[Part]:
    form = match[0].lower()
    return [Part(match.end(), SHORT[form], _pause(match) if form.endswith(".") else "")]


def _before_number(match: re.Match[str]) -> Sequence[Part]:
    return [Part(match.end(), BEFORE_NUMBERS[match[0].lower()])]


def _initials(match: re.Match[str]) -> Sequence[Part]:
    """`U.S.`, `J. K.`: letters, each with its full stop."""
    said = [Part(match.start() + place + 1, f"{letter}.") for place, letter in _places(match[0])]
    # `U.S. Army` is likelier than a sentence that begins right there.
    at_end = not match.string[match.end() :].strip() and len(said) > 1
    return [*said[:-1], Part(match.end(), said[-1].say, "." if at_end else "")]


def _places(written: str) -> list[tuple[int, str]]:
    """Return each letter or digit and its last position, the marks after it included."""
    found: list[tuple[int, str]] = []
    for place, each in enumerate(written):
        if each.isalnum():
            found.append((place, each.upper()))
        elif found:
            found[-1] = (place, found[-1][1])
    return found


def _spelled(match: re.Match[str]) -> Sequence[Part]:
    """`C-I-L-L-E`: letters, with the pace of somebody who spells."""
    places = _places(match[0])
    return [Part(match.start() + place + 1, f"{letter}.", ",") for place, letter in places[:-1]] + [
        Part(match.end(), f"{places[-1][1]}.")
    ]


def _joined_capitals(match: re.Match[str]) -> Sequence[Part]:
    """`CR-V`, `AT&T`: each part by itself."""
    parts = []
    for found in re.finditer(r"([A-Z]+)([-&]?)", match[0]):
        name = found[1]
        is_word = len(name) > 2 and name not in SPELLED and set(name) & set("AEIOUY")
        said = name if is_word else letters(name)
        said += " and" if found[2] == "&" else ""
        parts.append(Part(match.start() + found.end(), said))
    return parts


def _capitals(match: re.Match[str]) -> Sequence[Part] | None:
    """`BMW` is spelled, `NASA` and `STOP` are words."""
    written = match[0]
    if written in SPELLED or not set(written) & set("AEIOUY"):
        return [Part(match.end(), letters(written))]
    return None


def _single(match: re.Match[str]) -> Sequence[Part] | None:
    """`Model S`: a letter alone is named; `A` and `I` are words unless something says otherwise."""
    before = match.string[: match.start()]
    told = _LETTER_AFTER.search(before) or _LETTER_BEFORE.search(before)
    if match[0] in "AI" and not told and not _LETTER_NEXT.match(match.string, match.end()):
        return None
    return [Part(match.end(), f"{match[0]}.")]


RULES = (
    Rule(re.compile(rf"({either([*TITLES, *STREETS])})(?=(\s+[A-Z])?)"), _title),
    Rule(re.compile(rf"(?:{either(SHORT)})(?!\w)", re.IGNORECASE), _short),
    Rule(re.compile(rf"(?:{either(BEFORE_NUMBERS)})(?=\s*#?[0-9])", re.IGNORECASE), _before_number),
    Rule(re.compile(r"(?:[A-Za-z][-‑–]){2,}[A-Za-z](?![\w])"), _spelled),
    Rule(re.compile(r"(?:[A-Z]\. ?)*[A-Z]\.(?!\w)"), _initials),
    Rule(re.compile(r"[A-Z]{1,4}(?:[-&][A-Z]{1,4})+(?!\w)"), _joined_capitals),
    Rule(re.compile(r"[A-Z]{2,5}(?![\w'’-])"), _capitals),
    Rule(re.compile(r"[A-Z](?![\w'’.-])"), _single),
)

ABBREVIATIONS = frozenset(
    each.lower() for each in (*TITLES, *STREETS, *SHORT, *BEFORE_NUMBERS) if each.endswith(".")
)
ENDINGS = frozenset(each for each in SHORT if each.endswith("."))
