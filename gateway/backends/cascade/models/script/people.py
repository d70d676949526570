"""Names in a caller's words, plain or spelled letter by letter."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.backends.cascade.models.script.words import FILLERS, Words, find, listed, phrase

NO_NAMES = frozenset(
    listed(
        "i a an the my your our is was it its im am are and or but for from with about not no yes"
        " yeah yep sure okay ok calling call name last first sir maam here there this that in on at"
        " to of just so well very really having got have had having trying looking wondering need"
        " want please thanks thank you sorry hello hi hey what who going"
        " gonna because interested um uh"
    )
)

LETTERS = {
    **{letter: letter for letter in "abcdefghijklmnopqrstuvwxyz"},
    **dict(
        pair.split(":")
        for pair in listed(
            "ay:a bee:b be:b see:c sea:c cee:c dee:d ee:e ef:f eff:f gee:g aitch:h eye:i jay:j"
            " kay:k okay:k el:l ell:l em:m en:n oh:o pee:p pea:p cue:q queue:q are:r ar:r es:s"
            " ess:s tea:t tee:t you:u vee:v ex:x why:y wye:y zee:z zed:z"
        )
    ),
    **{
        word: word[0]
        for word in listed(
            "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november"
            " oscar papa quebec romeo sierra tango uniform victor whiskey xray yankee zulu"
        )
    },
}
"""What letters are heard as: themselves, their names, and the telephone alphabet."""

_LIKE = ("as", "for", "like")


def led(heard: Words, leads: Sequence[str], most: int) -> str:
    """Find a name after one of the phrases that announce it; the first phrase that leads wins."""
    for lead in leads:
        hit = find(heard.norm, phrase(lead))
        if hit is not None and (name := _take(heard, hit[1], most)):
            return name
    return ""


def bare(heard: Words, most: int) -> str:
    """Find the name in an answer to a question for it; empty where there is more than a name."""
    kept = [
        raw
        for raw, norm in zip(heard.raw, heard.norm, strict=True)
        if norm not in NO_NAMES and norm not in FILLERS and norm.isalpha()
    ]
    # Recognisers write names large; a sentence that holds one is no bare name but may hold it.
    if len(kept) <= most + 1:
        return _join(kept[:most])
    large = [word for word in kept[1:] if word[:1].isupper()]
    return _join(large) if 0 < len(large) <= most and len(kept) <= 4 else ""


def _take(heard: Words, at: int, most: int) -> str:
    taken: list[str] = []
    for raw, norm in zip(heard.raw[at : at + 6], heard.norm[at : at + 6], strict=True):
        if norm in FILLERS or (not taken and norm in ("a", "the", "its", "is")):
            continue
        if norm in NO_NAMES or not norm.isalpha() or norm.endswith("ing"):
            break
        if taken and not raw[:1].isupper():
            break
        taken.append(raw)
        if len(taken) == most:
            break
    return _join(taken)


def _join(parts: Sequence[str]) -> str:
    return " ".join(part[:1].upper() + part[1:] for part in parts)


def spelled(heard: Sequence[str]) -> str:
    """Join the letters of a spelling; empty where there are fewer than two.

    `S as in Sam` gives one letter, `double L` two; other words between letters are passed over.
    """
    letters = ""
    at = 0
    while at < len(heard):
        word = heard[at]
        times = 2 if word == "double" else 1
        if times == 2 and at + 1 < len(heard):
            at += 1
            word = heard[at]
        if word in ("w", "doubleyou") or (times == 2 and word in ("you", "u")):
            letter, times = "w", 1
        else:
            letter = LETTERS.get(word, "")
        following = heard[at + 1 : at + 4]
        if letter and len(following) > 1 and following[0] in _LIKE:
            at += 3 if following[1] == "in" else 2
        # `you` and `are` are words first; they are letters only among letters.
        if letter and (len(word) == 1 or letters or word not in ("you", "are", "why", "be", "oh")):
            letters += letter * times
        at += 1
    single = sum(len(word) == 1 for word in heard)
    return letters.upper() if len(letters) >= 2 and (single >= 2 or len(letters) >= 3) else ""
