"""How numbers are said in American English."""

from __future__ import annotations

ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SCALES = ("", "thousand", "million", "billion", "trillion")

LARGEST = 10**15
"""From here on nobody follows the words: digits are said."""

_ORDINALS = dict(
    zip(
        ("one", "two", "three", "five", "eight", "nine", "twelve"),
        ("first", "second", "third", "fifth", "eighth", "ninth", "twelfth"),
        strict=True,
    )
)


def cardinal(number: int) -> str:
    """Say a whole number: `one thousand two hundred forty-nine`."""
    if number < 0:
        return f"minus {cardinal(-number)}"
    if number >= LARGEST:
        return digits(str(number))
    if number == 0:
        return ONES[0]
    groups = []
    scale = 0
    while number:
        number, group = divmod(number, 1000)
        if group:
            groups.append(f"{_hundreds(group)} {SCALES[scale]}".strip())
        scale += 1
    return " ".join(reversed(groups))


def _hundreds(number: int) -> str:
    """Say 1 to 999."""
    words = []
    if number >= 100:
        words += [ONES[number // 100], "hundred"]
        number %= 100
    if number >= 20:
        tens, one = divmod(number, 10)
        words.append(TENS[tens] + (f"-{ONES[one]}" if one else ""))
    elif number:
        words.append(ONES[number])
    return " ".join(words)


def ordinal(number: int) -> str:
    """Say a rank: `twenty-first`, `one hundredth`."""
    head, dash, last = cardinal(number).rpartition(" ")
    tens, hyphen, one = last.rpartition("-")
    word = _ORDINALS.get(one) or (one[:-1] + "ieth" if one.endswith("y") else one + "th")
    return f"{head}{dash}{tens}{hyphen}{word}"


def year(number: int) -> str:
    """Say a year of four digits: `twenty eighteen`, `two thousand five`, `nineteen oh five`."""
    century, rest = divmod(number, 100)
    if century % 10 == 0 and rest < 10:
        return cardinal(number)
    if rest == 0:
        return f"{cardinal(century)} hundred"
    return f"{cardinal(century)} {'oh ' if rest < 10 else ''}{cardinal(rest)}"


def decade(number: int) -> str:
    """Say a decade: `nineteen nineties`, `two thousands`."""
    head, space, last = year(number).rpartition(" ")
    word = last[:-1] + "ies" if last.endswith("y") else last + "s"
    return f"{head}{space}{word}"


def digits(written: str) -> str:
    """Say digits one by one."""
    return " ".join(ONES[int(digit)] for digit in written)


def plain(written: str) -> str:
    """Say a number as it is written: `1,249.5`, `-3`, `0.75`, `1.2.3`."""
    sign = "minus " if written[:1] in "-−" else ""
    whole, *rest = written.lstrip("-−+").replace(",", "").split(".")
    said = digits(whole) if len(whole) > 1 and whole.startswith("0") else cardinal(int(whole or 0))
    return sign + " point ".join([said, *(digits(each) for each in rest if each)])
