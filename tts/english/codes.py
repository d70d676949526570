"""What is said sign by sign in English: telephone numbers, codes, plates, addresses on the net."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tts.english import numbers
from tts.english.tables import CALLED, CODED, ENDINGS, SIGNS, TOPS, either
from tts.english.words import letters
from tts.normalise import Part, Rule

_CODE_BEFORE = re.compile(
    rf"\b(?:{either(CODED)})\.?(?:\s+(?:is|was|number|no\.?|code))*\s*[:#]?\s*#?$", re.IGNORECASE
)
"""What says that the digits after it are read one by one."""

SPACED = {(3, 4), (3, 3, 4), (3, 3, 3), (1, 3, 3, 4)}
"""Groups of a telephone number that are told from a row of numbers by their lengths alone."""

SHORT_NUMBER = 2
"""Digits up to which a model's number is a number: `A4`, `X5`, `V8`, `RAV4`, `MP3`."""

_COMPONENT = re.compile(r"[A-Za-z]+|[0-9]+|.", re.DOTALL)


def grouped(length: int) -> list[int]:
    """Return how long the groups are in which so many digits are read."""
    if length <= 4:
        return [length]
    if length == 10:
        return [3, 3, 4]
    if length == 11:
        return [1, 3, 3, 4]
    rest = length % 3
    if rest == 1:
        return [3] * (length // 3 - 1) + [4]
    return [3] * (length // 3) + ([rest] if rest else [])


def _digit_parts(match: re.Match[str], ends: Sequence[int]) -> list[Part]:
    """Say digits one by one, with a pause after those at `ends` (counted in digits)."""
    places = [place for place in range(match.start(), match.end()) if match.string[place].isdigit()]
    parts = []
    for count, place in enumerate(places, 1):
        following = places[count] if count < len(places) else match.end()
        say = numbers.digits(match.string[place])
        if count == 1 and match[0].lstrip("(").startswith("+"):
            say = f"plus {say}"
        pause = "," if count in ends and count < len(places) else ""
        parts.append(Part(following, say, pause))
    return parts


def _phone(match: re.Match[str]) -> Sequence[Part] | None:
    """`(555) 012-3456`: the groups are those in which it is written."""
    runs = re.findall(r"[0-9]+", match[0])
    if not 7 <= sum(map(len, runs)) <= 15:
        return None
    spaced_only = set(re.sub(r"[0-9]", "", match[0])) <= {" "}
    if spaced_only and runs[0][0] != "0" and tuple(map(len, runs)) not in SPACED:
        return None  # a row of numbers
    ends, count = [], 0
    for run in runs:
        for size in grouped(len(run)):
            count += size
            ends.append(count)
    return _digit_parts(match, ends)


def _ends(length: int) -> list[int]:
    ends, count = [], 0
    for size in grouped(length):
        count += size
        ends.append(count)
    return ends


def _long_number(match: re.Match[str]) -> Sequence[Part]:
    """Seven digits and more without a comma are no amount."""
    return _digit_parts(match, _ends(len(match[0])))


def _digits(match: re.Match[str]) -> Sequence[Part] | None:
    """`007`, `911`: digits one by one."""
    if not match[0].startswith("0") and match[0] not in CALLED:
        return None
    return _digit_parts(match, _ends(len(match[0])))


def _told_code(match: re.Match[str]) -> Sequence[Part] | None:
    """`code 47-11`: sign by sign, since something says that it is a code."""
    if not any(each.isdigit() for each in match[0]):
        return None
    if not _CODE_BEFORE.search(match.string[: match.start()]):
        return None
    if match[0].isdigit():
        return _digit_parts(match, _ends(len(match[0])))
    return _signs(match)


def _code(match: re.Match[str]) -> Sequence[Part] | None:
    """`AB12-XZ` sign by sign; `A4` and `F-150` as car makers say them."""
    written = match[0]
    if not any(each.isdigit() for each in written) or not any(each.isalpha() for each in written):
        return None
    model = re.fullmatch(r"([A-Z]{1,4})(-?)([0-9]{1,3})", written)
    if model and (len(model[3]) <= SHORT_NUMBER or (model[2] and len(model[1]) == 1)):
        return _model(match, model)
    return _signs(match)


def _signs(match: re.Match[str]) -> list[Part]:
    """Say letters and digits one by one, with a pause at what parts them."""
    parts: list[Part] = []
    for place, each in enumerate(match[0]):
        end = match.start() + place + 1
        if each.isdigit():
            parts.append(Part(end, numbers.digits(each)))
        elif each.isalpha():
            parts.append(Part(end, letters(each)))
        elif parts:
            parts[-1] = Part(end, parts[-1].say, ",")
    return parts


def _model(match: re.Match[str], model: re.Match[str]) -> Sequence[Part]:
    """Say letters, then a number: `F one fifty`, `RAV four`."""
    name, number = model[1], model[3]
    is_word = len(name) > 2 and set(name) & set("AEIOU")
    hundreds, rest = divmod(int(number), 100)
    if len(number) == 3 and hundreds and rest >= 10:
        said = f"{numbers.cardinal(hundreds)} {numbers.cardinal(rest)}"
    elif number.startswith("0"):
        said = numbers.digits(number)
    else:
        said = numbers.cardinal(int(number))
    after_name = match.start() + model.end(2)
    return [
        Part(after_name, name.capitalize() if is_word else letters(name)),
        Part(match.end(), said),
    ]


def _address(match: re.Match[str]) -> Sequence[Part]:
    """An e-mail or web address: words as words, the rest by name."""
    parts = []
    start = match.start()
    skipped = re.match(r"https?://", match[0])
    for found in _COMPONENT.finditer(match[0]):
        if skipped and found.start() < skipped.end():
            continue
        end, text = start + found.end(), found[0]
        last = end == match.end() or match.string[end : end + 1] == "/"
        parts.append(Part(end, _component(text, last=last)))
    return parts


def _component(text: str, *, last: bool) -> str:
    """Say one run of letters or digits of an address, or a sign."""
    if text in SIGNS:
        return SIGNS[text]
    if text.isdigit():
        return numbers.digits(text) if len(text) != 2 or text[0] == "0" else numbers.plain(text)
    lower = text.lower()
    vowels = set(lower) & set("aeiouy")
    if lower in ENDINGS:
        return lower
    if not vowels or len(text) == 1 or (last and len(text) == 2):
        return letters(text) if text.isascii() and text.isalpha() else text
    return text


_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"

ADDRESSES = (
    Rule(re.compile(rf"[A-Za-z0-9][\w.+-]*@{_NAME}(?:\.{_NAME})+", re.ASCII), _address),
    Rule(
        re.compile(
            rf"(?:https?://(?:{_NAME}\.)*{_NAME}|www(?:\.{_NAME})+"
            rf"|{_NAME}(?:\.{_NAME})*\.(?:{either(TOPS)})(?![\w-]))"
            r"(?::[0-9]+)?(?:/[\w\-./?=&#%~+]*[\w/])?",
            re.ASCII,
        ),
        _address,
    ),
)

NUMBERS = (
    Rule(
        re.compile(
            r"(?:\+[0-9]{1,3}[ .-]?)?\(?[0-9]{1,5}\)?(?:[ ./-][0-9]{2,5}){1,6}(?![\w]|[.,:/-][0-9])"
            r"|\+[0-9]{7,15}(?!\w)"
        ),
        _phone,
    ),
    Rule(re.compile(r"(?=[A-Z0-9-]{3})[A-Z0-9]+(?:-[A-Z0-9]+)*(?![\w'’]|[.,:][0-9])"), _told_code),
)

RULES = (
    Rule(re.compile(r"[0-9]{7,}(?![\w]|[.,][0-9])"), _long_number),
    Rule(re.compile(r"[0-9]{3,6}(?![\w]|[.,:/-][0-9])"), _digits),
    Rule(re.compile(r"[A-Z0-9]+(?:-[A-Z0-9]+)*(?![\w'’]|[.,:][0-9])"), _code),
)
