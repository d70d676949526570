"""Numbers in a caller's words: counts, years, digits one after another."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.backends.cascade.models.script.words import listed

UNITS = {
    word: value
    for value, word in enumerate(
        listed(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
            " fifteen sixteen seventeen eighteen nineteen"
        )
    )
}
TENS = {
    word: 10 * value
    for value, word in enumerate(listed("twenty thirty forty fifty sixty seventy eighty ninety"), 2)
}

YEARS = range(1950, 2036)
"""Model years of cars that still come to a workshop, or soon will."""


def small(heard: Sequence[str], at: int) -> tuple[int, int] | None:
    """Read a number under 100 at a place: its value, and the place after it."""
    if at >= len(heard):
        return None
    word = heard[at]
    if word.isascii() and word.isdigit() and len(word) <= 2:
        return int(word), at + 1
    if word in UNITS:
        return UNITS[word], at + 1
    if word in TENS:
        follows = UNITS.get(heard[at + 1], 0) if at + 1 < len(heard) else 0
        return (TENS[word] + follows, at + 2) if 0 < follows < 10 else (TENS[word], at + 1)
    return None


def year(heard: Sequence[str]) -> int | None:
    """Find a year: `2018`, `twenty eighteen`, `two thousand and eighteen`, `2000 and 18`."""
    for at, word in enumerate(heard):
        found = _thousands(heard, at) or _pair(heard, at)
        if found is None and word.isdigit() and len(word) == 4:
            found = int(word)
        if found is not None and found in YEARS:
            return found
    return None


def short_year(heard: Sequence[str]) -> int | None:
    """Read a lone two-digit number as a year, as in the answer `an 18`."""
    for at in range(len(heard)):
        found = small(heard, at)
        if found is not None and 0 < found[0] < 100:
            return found[0] + (2000 if found[0] <= YEARS.stop - 2000 else 1900)
    return None


def _thousands(heard: Sequence[str], at: int) -> int | None:
    if heard[at] == "2000":
        after = at + 1
    elif heard[at] in ("two", "2") and heard[at + 1 : at + 2] == ("thousand",):
        after = at + 2
    else:
        return None
    if after < len(heard) and heard[after] == "and":
        after += 1
    rest = small(heard, after)
    return 2000 + (rest[0] if rest is not None else 0)


def _pair(heard: Sequence[str], at: int) -> int | None:
    """Read `nineteen ninety nine`, `twenty oh five`, `20 18`."""
    first = 20 if heard[at] in ("20", "twenty") else 19 if heard[at] in ("19", "nineteen") else None
    if first is None or at + 1 >= len(heard):
        return None
    if heard[at + 1] in ("oh", "o"):
        rest = small(heard, at + 2)
        return 100 * first + rest[0] if rest is not None and rest[0] < 10 else None
    rest = small(heard, at + 1)
    return 100 * first + rest[0] if rest is not None and rest[0] >= 10 else None


def digits(heard: Sequence[str]) -> str:
    """Join everything that is a digit: `five five five, oh one double two`."""
    result, times, at = "", 1, 0
    while at < len(heard):
        word = heard[at]
        step = at + 1
        if word in ("double", "triple"):
            times = 2 if word == "double" else 3
            at += 1
            continue
        if word.isascii() and word.isdigit():
            piece = word
        elif word in ("oh", "o"):
            piece = "0"
        elif (found := small(heard, at)) is not None:
            piece, step = str(found[0]), found[1]
        elif word == "hundred" and result:
            piece = "00"
        else:
            piece = ""
        result += piece * times if len(piece) == 1 else piece
        times, at = 1, step
    return result
