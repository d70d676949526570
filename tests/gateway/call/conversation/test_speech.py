"""What of an utterance was heard, in the agent's own writing."""

from __future__ import annotations

import pytest

from gateway.call.conversation.speech import Utterance
from gateway.events import Word


def number() -> Utterance:
    """Give an utterance whose last word is said digit by digit."""
    words = [
        Word("Call", 0.0, 0.4),
        Word("5", 0.4, 0.8),
        Word("5", 0.8, 1.2, glued=True),
        Word("5-", 1.2, 1.6, glued=True),
        Word("0", 1.6, 2.0, glued=True),
        Word("now.", 2.0, 2.4),
    ]
    return Utterance(1, "reply", text="Call 555-0 now.", words=words)


@pytest.mark.parametrize(
    ("heard", "text"),
    [(0.1, ""), (0.3, "Call"), (1.1, "Call 55"), (1.9, "Call 555-0"), (9.0, "Call 555-0 now.")],
)
def test_a_number_is_cut_where_the_caller_cut_in(heard: float, text: str) -> None:
    assert number().heard_text(heard, 2.4) == text
