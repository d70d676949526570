"""OpenAI's `/v1/audio/transcriptions`, at OpenAI and at servers that offer the same."""

from __future__ import annotations

import io
import wave
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

from gateway.backends.cascade.recognisers.turnwise import Question
from gateway.backends.cascade.remote import Remote, events, is_json
from gateway.plumbing.wire_json import parse

Positive = Annotated[float, Meta(gt=0)]

PROMPT_CHARACTERS = 600
"""Whisper reads the last 224 tokens of a prompt; that is about as much text."""


@dataclass(frozen=True, slots=True)
class TranscriptionSettings:
    """The settings of `recogniser = { kind = "openai" }`."""

    kind: str
    model: str
    url: str = "https://api.openai.com/v1"
    api_key_env: str = ""
    "the environment variable that holds the key; empty: the server asks for none"
    language: str = ""
    "two letters; empty: the recogniser finds out"
    stream: bool = False
    "let the words come bit by bit; the last one comes no sooner"
    connect_seconds: Positive = 2.0
    answer_seconds: Positive = 3.0


class Transcriptions:
    """Writes turns down at a server."""

    def __init__(self, settings: TranscriptionSettings, api_key: str = "") -> None:
        self._settings = settings
        self._remote = Remote(
            settings.url, api_key, settings.connect_seconds, settings.answer_seconds
        )

    async def write(self, question: Question) -> str:
        """Return the words of a turn; raise OSError or TimeoutError."""
        settings = self._settings
        fields: dict[str, str] = {"model": settings.model, "response_format": "json"}
        if settings.language:
            fields["language"] = settings.language
        if question.hints:
            fields["prompt"] = ", ".join(question.hints)[:PROMPT_CHARACTERS]
        if settings.stream:
            fields["stream"] = "true"
        file = ("turn.wav", wav(question.pcm, question.rate), "audio/wav")
        async with self._remote.post(
            "/audio/transcriptions", data=fields, files={"file": file}
        ) as answer:
            if is_json(answer.headers):
                return _text(_parsed(await answer.aread()))
            words = Words()
            async for data in events(answer):
                if words.feed(_parsed(data)):
                    question.partial(words.text)
        return words.end()

    async def close(self) -> None:
        """Close every connection."""
        await self._remote.close()


class Words:
    """Reads a streamed transcript in either of the two shapes there are."""

    def __init__(self) -> None:
        self.text = ""
        self._whole: str | None = None
        self._chat = False

    def feed(self, event: dict[str, Any]) -> bool:
        """Take an event, say whether there are more words; raise OSError when it is a failure."""
        if "error" in event:
            error = event["error"]
            said = error.get("message") if isinstance(error, dict) else error
            raise OSError(f"the recogniser failed: {str(said)[:200]}")
        match event.get("type"):
            case "transcript.text.delta":  # OpenAI
                return self._add(event.get("delta"))
            case "transcript.text.done":
                self._whole = str(event.get("text") or "")
                return False
            case None:  # vLLM: chunks like those of a chat
                self._chat = True
                added = ""
                for choice in event.get("choices") or ():
                    added += (choice.get("delta") or {}).get("content") or ""
                return self._add(added)
            case _:
                return False  # segments repeat the words

    def end(self) -> str:
        """Return the whole text; raise OSError when the end is missing."""
        if self._whole is None and not self._chat:
            raise OSError("the transcript was cut off")
        return self.text if self._whole is None else self._whole

    def _add(self, more: object) -> bool:
        if not isinstance(more, str) or not more:
            return False
        self.text += more
        return True


def wav(pcm: bytes, rate: int) -> bytes:
    """Write mono sound as a WAV file."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(rate)
        writer.writeframes(pcm)
    return file.getvalue()


def _parsed(data: bytes | str) -> dict[str, Any]:
    try:
        event = parse(data)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise OSError(f"the recogniser is not understood: {data[:80]!r}")
    return event


def _text(answer: object) -> str:
    text = answer.get("text") if isinstance(answer, dict) else None
    if not isinstance(text, str):
        raise OSError("the recogniser gave no text")
    return text
