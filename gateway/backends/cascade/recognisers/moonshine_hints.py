"""Words that an agent expects, as the embedded recogniser may write them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from gateway.backends.cascade.recognisers.beam_search import Expected
from gateway.backends.cascade.recognisers.moonshine_tokens import Tokens


@lru_cache(maxsize=64)
def expected_words(tokens: Tokens, hints: tuple[str, ...]) -> Expected:
    """Make the tree of the expected words, written as the model may write them."""
    found = Expected()
    for hint in hints:
        for spelled in _spellings(hint):
            found.add(tokens.encode(spelled))
    return found


def _spellings(hint: str) -> Iterable[str]:
    """Return a phrase as it stands in a sentence, at its beginning, and as a name."""
    return {hint, hint.lower(), hint[:1].upper() + hint[1:], hint.title()}
