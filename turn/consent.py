"""What counts as a yes, and what as a no, in each language.

A write that needs the caller's word asks here, so the lists are strict: what is hedged, put as a
question or mixed with a refusal is no yes.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["yes", "no", "unclear"]


@dataclass(frozen=True, slots=True)
class YesWords:
    """The phrases of one language, lower case, without apostrophes."""

    yes: frozenset[str]
    "agree by themselves, also beside a question"
    mild: frozenset[str]
    "agree unless a question or a condition comes with them"
    no: frozenset[str]
    "refuse"
    doubt: frozenset[str]
    "take an agreement back, or put it off, when they follow it or stand alone"
    hedge: frozenset[str]
    "take it back wherever they stand"
    harmless: frozenset[str]
    "hold a word of refusal and mean none"
    questions: frozenset[str]
    "begin a question"


def _set(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.split(",") if part.strip())


LISTS: dict[str, YesWords] = {
    "en": YesWords(
        yes=_set(
            "yes, yeah, yep, yup, yes please, sure, of course, absolutely, definitely, certainly,"
            "go ahead, go for it, please do, lets do it, lets do that, do it, do that, book it,"
            "book that, i agree, thats correct, correct, that is correct, thats right,"
            "that is right, yes sir, yes maam, exactly, lets go for it, lets go with that"
        ),
        mild=_set(
            "okay, ok, all right, alright, fine, thats fine, sounds good, sounds great, perfect,"
            "sounds perfect, that works, works for me, that would be great, that would be good,"
            "that will work, thatll work, thatll be fine, that would work, that is fine, good,"
            "ill take it, ill take that, great, wonderful, i guess so, i suppose so, why not,"
            "that suits me"
        ),
        no=_set(
            "no, nope, nah, not, dont, do not, never, cancel, stop, cant, cannot, wont, isnt,"
            "doesnt, no way, forget it, never mind, nevermind, leave it"
        ),
        doubt=_set(
            "but, wait, hold on, hang on, actually, instead, rather, one second, one moment,"
            "unless, if, first, different, other"
        ),
        hedge=_set("maybe, perhaps, let me think, i think so, not sure"),
        harmless=_set(
            "no problem, not a problem, why not, no worries, dont worry, cant wait, dont mind,"
            "no doubt, not at all, if you would, if you could, if you dont mind, no objection,"
            "first thing, no objections, if thats okay, if thats all right, if possible"
        ),
        questions=_set(
            "what, when, how, why, which, who, where, can you, could you, do you, is it"
        ),
    ),
    "de": YesWords(
        yes=_set(
            "ja, jawohl, ja bitte, gerne, gern, genau, klar, natürlich, richtig,"
            "selbstverständlich, stimmt, auf jeden fall, unbedingt, machen wir, machen sie das,"
            "bitte tun sie das, einverstanden, so machen wir das, sicher"
        ),
        mild=_set("okay, ok, gut, passt, in ordnung, alles klar, perfekt, super, das geht, prima"),
        no=_set("nein, nee, nö, nicht, kein, keine, keinen, nie, stopp, abbrechen, lieber nicht"),
        doubt=_set("aber, moment, warten sie, eigentlich, stattdessen, lieber, wenn"),
        hedge=_set("vielleicht, ich glaube, nicht sicher"),
        harmless=_set("kein problem, warum nicht, keine frage, macht nichts"),
        questions=_set("was, wann, wie, warum, welche, welcher, wer, wo, können sie"),
    ),
    "fr": YesWords(
        yes=_set(
            "oui, ouais, oui merci, bien sûr, certainement, absolument, tout à fait, exactement,"
            "daccord, allez y, volontiers, cest exact, cest ça, avec plaisir"
        ),
        mild=_set("okay, ok, très bien, parfait, ça marche, ça me va, entendu, cest bon, bien"),
        no=_set("non, pas, jamais, annulez, arrêtez, aucun"),
        doubt=_set("mais, attendez, plutôt, en fait, un instant, si"),
        hedge=_set("peut être, je crois"),
        harmless=_set("pas de problème, pourquoi pas, pas de souci, sans problème"),
        questions=_set("quoi, quand, comment, pourquoi, quel, quelle, qui, où, est ce que"),
    ),
    "es": YesWords(
        yes=_set(
            "sí, si, claro, por supuesto, desde luego, exacto, correcto, adelante, de acuerdo,"
            "hágalo, sí por favor, eso es"
        ),
        mild=_set(
            "okay, ok, vale, bien, muy bien, perfecto, está bien, me parece bien, bueno, cómo no"
        ),
        no=_set("no, nunca, cancele, tampoco, ningún, ninguna"),
        doubt=_set("pero, espere, un momento, mejor, en realidad"),
        hedge=_set("quizás, tal vez, creo que sí"),
        harmless=_set("no hay problema, por qué no, cómo no, no se preocupe"),
        questions=_set("qué, cuándo, cuál, quién, dónde, puede"),
    ),
    "it": YesWords(
        yes=_set("sì, si, certo, certamente, esatto, va bene, daccordo, senzaltro, volentieri"),
        mild=_set("okay, ok, bene, perfetto, benissimo, ottimo"),
        no=_set("no, non, mai, annulli, nessun, nessuna"),
        doubt=_set("ma, però, aspetti, un momento, invece, piuttosto, se"),
        hedge=_set("forse, credo di sì"),
        harmless=_set("nessun problema, perché no, non cè problema"),
        questions=_set("cosa, quando, come, perché, quale, chi, dove, può"),
    ),
    "nl": YesWords(
        yes=_set("ja, jazeker, ja graag, graag, zeker, natuurlijk, klopt, precies, akkoord"),
        mild=_set("okay, oké, ok, goed, prima, dat is goed, perfect, prima zo, doe maar"),
        no=_set("nee, niet, geen, nooit, stop, annuleren"),
        doubt=_set("maar, wacht, eigenlijk, liever, als"),
        hedge=_set("misschien, ik denk het"),
        harmless=_set("geen probleem, waarom niet, doe maar"),
        questions=_set("wat, wanneer, hoe, waarom, welke, wie, waar, kunt u"),
    ),
    "pt": YesWords(
        yes=_set(
            "sim, claro, com certeza, exato, correto, pode ser, de acordo, isso mesmo, por favor"
        ),
        mild=_set("okay, ok, tudo bem, está bem, bom, perfeito, ótimo, combinado"),
        no=_set("não, nunca, cancele, nenhum, nenhuma"),
        doubt=_set("mas, espere, um momento, na verdade, melhor, se"),
        hedge=_set("talvez, acho que sim"),
        harmless=_set("não há problema, por que não, não tem problema"),
        questions=_set("quê, quando, como, qual, quem, onde, pode"),
    ),
}


def knows(language: str) -> bool:
    """Say whether there is a list for a language tag such as `en` or `en-US`."""
    return _primary(language) in LISTS


def words_of(text: str) -> list[str]:
    """Split into lower-case words without punctuation; apostrophes vanish (`let's` is `lets`)."""
    plain = unicodedata.normalize("NFC", text).lower().replace("\u2019", "'").replace("'", "")
    return re.findall(r"\w+", plain)


def verdict(text: str, language: str = "en") -> Verdict:
    """Judge a caller's words as an answer to a yes-or-no question.

    Only `yes` is consent; a language without a list never gives it.
    """
    lists = LISTS.get(_primary(language))
    if lists is None:
        return "unclear"
    words = words_of(text)
    rest = _without(words, lists.harmless)
    harmless = len(rest) < len(words)
    strong = _first(rest, lists.yes)
    mild = _first(rest, lists.mild)
    refused = _first(rest, lists.no)
    if refused is not None:
        return _refusal(strong, refused)
    agreed = strong if strong is not None else mild
    if agreed is None:
        return "yes" if harmless and _first(words, lists.mild) is not None else "unclear"
    if _first(rest[agreed:], lists.doubt) is not None or _first(rest, lists.hedge) is not None:
        return "unclear"
    asks = "?" in text or _first(rest, lists.questions) is not None
    return "unclear" if strong is None and asks else "yes"


def _refusal(strong: int | None, refused: int) -> Verdict:
    """Judge words that refuse, and perhaps agree as well, by what comes first and how close."""
    if strong is None:
        return "no"
    if strong < refused:  # "yeah, no" against "yes, I don't need a car"
        return "no" if refused == strong + 1 else "unclear"
    return "unclear" if strong == refused + 1 else "no"  # "no, yeah" against "no, that is correct"


def explicit_yes(text: str, language: str = "en") -> bool:
    """Say whether the caller agreed in so many words."""
    return verdict(text, language) == "yes"


def _primary(language: str) -> str:
    return language.lower().replace("_", "-").split("-")[0]


def _first(words: list[str], phrases: frozenset[str]) -> int | None:
    """Find where the earliest of the phrases begins."""
    text = " " + " ".join(words) + " "
    hits = [at for phrase in phrases if (at := text.find(f" {phrase} ")) >= 0]
    return text.count(" ", 1, min(hits) + 1) if hits else None


def _without(words: list[str], phrases: frozenset[str]) -> list[str]:
    text = " " + " ".join(words) + " "
    for phrase in sorted(phrases, key=len, reverse=True):
        text = text.replace(f" {phrase} ", " ")
    return text.split()
