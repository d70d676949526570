"""English, as it is read aloud in America."""

from __future__ import annotations

from tts.english import amounts, clock, codes, words
from tts.english.tables import JOINTS, SYMBOLS
from tts.normalise import Language

ENGLISH = Language(
    # Addresses and dates hold what looks like numbers; words come last.
    rules=(
        *codes.ADDRESSES,
        *clock.DATES,
        *codes.NUMBERS,
        *clock.RULES,
        *amounts.RULES,
        *codes.RULES,
        *amounts.PLAIN,
        *words.RULES,
    ),
    symbols=SYMBOLS,
    abbreviations=words.ABBREVIATIONS,
    endings=words.ENDINGS,
    joints=JOINTS,
)
