"""What callers say where no recordings are given: a few sentences by the embedded voice."""

from __future__ import annotations

from collections.abc import AsyncIterator

from gateway.backends.cascade.ports import Voice
from gateway.caller.sound import Recording, recording

SENTENCES = (
    "What are your opening hours?",
    "I would like to make an appointment for next week.",
    "How much does it cost?",
    "Could you tell me a little more about that, please?",
    "Is there anything free on Thursday in the afternoon?",
    "No, I meant something else.",
)


async def spoken(voice: Voice, rate: int) -> list[Recording]:
    """Speak the sentences at a line's rate; raise OSError where the voice fails."""
    return [
        recording(
            text, b"".join([chunk.pcm async for chunk in voice.speak(_whole(text), rate)]), rate
        )
        for text in SENTENCES
    ]


async def _whole(text: str) -> AsyncIterator[str]:
    yield text
