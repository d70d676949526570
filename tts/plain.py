"""Text for the ear: what is written becomes what is said, and each said piece knows its writing.

English only; another language is another module with a `normalise` of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tts import numbers


@dataclass(frozen=True, slots=True)
class Piece:
    """A word as it was written, and what is said for it."""

    written: str
    spoken: str


WORDS = {
    "dr.": "doctor",
    "mr.": "mister",
    "mrs.": "missus",
    "ms.": "miz",
    "st.": "street",
    "ave.": "avenue",
    "rd.": "road",
    "e.g.": "for example",
    "i.e.": "that is",
    "etc.": "et cetera",
    "vs.": "versus",
    "approx.": "approximately",
    "no.": "number",
    "&": "and",
    "+": "plus",
    "=": "equals",
    "a.m.": "A M",
    "p.m.": "P M",
    "am": "am",
    "mon": "Monday",
    "tue": "Tuesday",
    "wed": "Wednesday",
    "thu": "Thursday",
    "fri": "Friday",
    "mon-fri": "Monday to Friday",
    "km": "kilometers",
    "kg": "kilograms",
    "mph": "miles per hour",
}
UNITS = {
    "km": "kilometers",
    "m": "meters",
    "cm": "centimeters",
    "mm": "millimeters",
    "kg": "kilograms",
    "g": "grams",
    "l": "liters",
    "ml": "milliliters",
    "mi": "miles",
    "ft": "feet",
    "mph": "miles per hour",
    "h": "hours",
    "min": "minutes",
    "s": "seconds",
    "gb": "gigabytes",
    "mb": "megabytes",
    "kw": "kilowatts",
    "hp": "horsepower",
}
SYMBOLS = {"@": "at", ".": "dot", "-": "dash", "_": "underscore", "/": "slash", ":": "colon"}
CURRENCIES = {"$": ("dollar", "cent"), "€": ("euro", "cent"), "£": ("pound", "penny")}
PLURALS = {"penny": "pence"}
CLOSING = ".,;:!?)]}\"'”’…"


def normalise(text: str) -> tuple[Piece, ...]:
    """Give a text's words with what is said for each; never raises."""
    return tuple(
        Piece(word, spoken) for word in text.split() if (spoken := _word(word)) or word.isalnum()
    )


def _word(word: str) -> str:
    lower = word.lower()
    if lower in WORDS:
        return WORDS[lower]
    body = word.lstrip("([{\"'“‘")
    core = body.rstrip(CLOSING)
    closing = "".join(each for each in body[len(core) :] if each in ".,;:!?")
    if core.lower() + "." in WORDS and closing.startswith(".") and core.lower() != "no":
        return WORDS[core.lower() + "."] + closing[1:]
    if not core:
        return ""
    for rule in RULES:
        said = rule(core)
        if said is not None:
            return said + closing
    return core + closing


def _email(core: str) -> str | None:
    if not re.fullmatch(r"[\w.+-]+@[\w-]+(\.[\w-]+)+", core):
        return None
    name, _, host = core.partition("@")
    return f"{_address(name)} at {_address(host)}"


def _url(core: str) -> str | None:
    found = re.fullmatch(r"(?:https?://)?((?:www\.)?[\w-]+(?:\.[a-zA-Z]{2,})+(?:/[\w./-]*)?)", core)
    return _address(found[1].rstrip("/")) if found and "." in core else None


def _address(text: str) -> str:
    """Say the parts of an address: words as words, anything else letter by letter."""
    parts = re.findall(r"[A-Za-z]+|\d+|[^\w\s]|_", text)
    return " ".join(
        SYMBOLS.get(part, part)
        if not part.isalnum()
        else numbers.digits(part)
        if part.isdecimal()
        else part
        if len(part) > 2 or part.lower() in ("me", "no", "at", "my", "us", "de", "io", "co")
        else _letters(part)
        for part in parts
    )


def _letters(text: str) -> str:
    """Spell: letters by their names, digits one by one; commas make groups of three."""
    named = [
        numbers.ONES[int(each)] if each.isdecimal() else each.upper()
        for each in text
        if each.isalnum() and each.isascii()
    ]
    groups = [" ".join(named[at : at + 3]) for at in range(0, len(named), 3)]
    return ", ".join(groups)


def _time(core: str) -> str | None:
    found = re.fullmatch(r"(\d{1,2})[:.](\d\d)(?:-(\d{1,2})[:.](\d\d))?", core)
    if not found or ":" not in core or int(found[1]) > 24 or int(found[2]) > 59:
        return None
    said = _clock(int(found[1]), int(found[2]))
    return said + (f" to {_clock(int(found[3]), int(found[4]))}" if found[3] else "")


def _clock(hour: int, minute: int) -> str:
    said = numbers.cardinal(hour)
    if minute == 0:
        return f"{said} o'clock" if 0 < hour <= 12 else f"{said} hundred"
    return f"{said} {'oh ' if minute < 10 else ''}{numbers.cardinal(minute)}"


def _money(core: str) -> str | None:
    found = re.fullmatch(r"([$€£])(\d[\d,]*)(?:\.(\d\d))?|(\d[\d,]*)(?:\.(\d\d))?([$€£])", core)
    if not found:
        return None
    unit, part = CURRENCIES[found[1] or found[6]]
    whole = int((found[2] or found[4]).replace(",", ""))
    cents = int(found[3] or found[5] or 0)
    said = [f"{numbers.cardinal(whole)} {_plural(unit, whole)}"] if whole or not cents else []
    if cents:
        said.append(f"{numbers.cardinal(cents)} {_plural(part, cents)}")
    return " and ".join(said)


def _plural(unit: str, count: int) -> str:
    return unit if count == 1 else PLURALS.get(unit, unit + "s")


def _date(core: str) -> str | None:
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", core)
    if not found or not (1 <= int(found[2]) <= 12 and 1 <= int(found[3]) <= 31):
        return None
    month = MONTHS[int(found[2]) - 1]
    return f"{month} {numbers.ordinal(int(found[3]))}, {numbers.year(int(found[1]))}"


MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def _phone(core: str) -> str | None:
    plain = re.sub(r"[\s()./-]", "", core)
    if not re.fullmatch(r"\+?\d{7,15}", plain) or (re.fullmatch(r"[\d,]+", core) and "," in core):
        return None
    parts = [part for part in re.split(r"[\s()./+-]+", core) if part]
    if len(parts) == 1:
        whole = parts[0]
        head = len(whole) % 3 or 3
        parts = [whole[:head], *(whole[at : at + 3] for at in range(head, len(whole), 3))]
    said = ", ".join(numbers.digits(part) for part in parts)
    return f"plus {said}" if core.startswith("+") else said


def _percent(core: str) -> str | None:
    found = re.fullmatch(r"(-?)(\d[\d,]*(?:\.\d+)?)%", core)
    return f"{'minus ' * bool(found[1])}{numbers.decimal(found[2])} percent" if found else None


def _measure(core: str) -> str | None:
    found = re.fullmatch(r"(\d[\d,]*(?:\.\d+)?)([a-zA-Z]{1,3})", core)
    if not found or found[2].lower() not in UNITS:
        return None
    return f"{numbers.decimal(found[1])} {UNITS[found[2].lower()]}"


def _half_day(core: str) -> str | None:
    found = re.fullmatch(r"(\d{1,2})(?::(\d\d))?([ap])\.?m", core.lower())
    if not found or int(found[1]) > 12:
        return None
    minute = int(found[2] or 0)
    hour = numbers.cardinal(int(found[1]))
    said = hour if not minute else _clock(int(found[1]), minute)
    return f"{said} {found[3].upper()} M"


def _ordinal(core: str) -> str | None:
    found = re.fullmatch(r"(\d{1,6})(st|nd|rd|th)", core.lower())
    return numbers.ordinal(int(found[1])) if found else None


def _range(core: str) -> str | None:
    found = re.fullmatch(r"(\d{1,3})[-–](\d{1,3})", core)
    if not found:
        return None
    return f"{numbers.cardinal(int(found[1]))} to {numbers.cardinal(int(found[2]))}"


def _number(core: str) -> str | None:
    if re.fullmatch(r"(19|20)\d\d", core):
        return numbers.year(int(core))
    if re.fullmatch(r"0\d+", core):
        return numbers.digits(core)
    if re.fullmatch(r"-?\d{1,3}(,\d{3})*(\.\d+)?|-?\d+(\.\d+)?", core):
        return ("minus " if core[0] == "-" else "") + numbers.decimal(core.lstrip("-"))
    return None


def _code(core: str) -> str | None:
    """Spell what mixes letters and digits, and short runs of capitals without a vowel."""
    plain = core.replace("-", "").replace("/", "")
    mixed = any(c.isdecimal() for c in plain) and any(c.isalpha() for c in plain)
    consonants = len(plain) <= 5 and plain.isupper() and not set(plain) & set("AEIOUY")
    spelled = bool(re.fullmatch(r"[A-Za-z](-[A-Za-z])+", core))
    if (
        plain.isascii()
        and plain.isalnum()
        and (mixed or spelled or (consonants and len(plain) > 1))
    ):
        return _letters(core)
    return None


RULES: tuple[Callable[[str], str | None], ...] = (
    _email,
    _url,
    _half_day,
    _time,
    _money,
    _date,
    _percent,
    _ordinal,
    _range,
    _number,
    _phone,
    _measure,
    _code,
)


def spoken(text: str) -> str:
    """Give what is said for a text, in one string."""
    return " ".join(_said(normalise(text)))


def _said(pieces: tuple[Piece, ...]) -> Iterator[str]:
    return (piece.spoken for piece in pieces if piece.spoken)
