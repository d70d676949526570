"""Numbers as English words, in the ways they are said aloud."""

from __future__ import annotations

ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SCALES = ((10**9, "billion"), (10**6, "million"), (1000, "thousand"))
ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}


def cardinal(number: int) -> str:
    """Say a whole number below a trillion; larger ones digit by digit."""
    if number < 0:
        return f"minus {cardinal(-number)}"
    if number >= 10**12:
        return digits(str(number))
    for size, name in SCALES:
        if number >= size:
            rest = number % size
            return f"{cardinal(number // size)} {name}" + (f" {cardinal(rest)}" if rest else "")
    if number >= 100:
        rest = number % 100
        return f"{ONES[number // 100]} hundred" + (f" {cardinal(rest)}" if rest else "")
    if number >= 20:
        return TENS[number // 10] + (f" {ONES[number % 10]}" if number % 10 else "")
    return ONES[number]


def ordinal(number: int) -> str:
    """Say a rank: third, twenty first."""
    head, _, last = cardinal(number).rpartition(" ")
    if last in ORDINALS:
        last = ORDINALS[last]
    elif last.endswith("y"):
        last = last[:-1] + "ieth"
    else:
        last += "th"
    return f"{head} {last}".strip()


def year(number: int) -> str:
    """Say a year: nineteen oh five, twenty eighteen, two thousand and three."""
    century, rest = divmod(number, 100)
    if rest == 0:
        return cardinal(number) if century % 10 == 0 else f"{cardinal(century)} hundred"
    if century == 20 and rest < 10:
        return f"two thousand {ONES[rest]}"
    return f"{cardinal(century)} {'oh ' if rest < 10 else ''}{cardinal(rest)}"


def digits(text: str) -> str:
    """Say each digit by itself."""
    return " ".join(ONES[int(each)] for each in text if each.isdecimal() and each.isascii())


def decimal(text: str) -> str:
    """Say a number with or without decimals, as it is written: `1,249.5`."""
    whole, _, part = text.replace(",", "").partition(".")
    said = cardinal(int(whole or "0"))
    return f"{said} point {digits(part)}" if part else said
