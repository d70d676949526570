from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from gateway.backends.cascade.voices.cartesia import CartesiaConnection, CartesiaSettings
from gateway.backends.cascade.voices.elevenlabs import (
    ElevenLabsConnection,
    ElevenLabsSettings,
)
from gateway.backends.cascade.voices.spoken_text import Pace, SpokenText


def sent(messages: Any) -> list[dict[str, Any]]:
    return [json.loads(message) for message in messages]


# --- ElevenLabs ----------------------------------------------------------------------------------


def eleven() -> ElevenLabsConnection:
    return ElevenLabsConnection(ElevenLabsSettings("elevenlabs", "v1"), "key", 8000)


def audio(samples: int, chars: str, step_ms: int = 50) -> bytes:
    """Write a piece of sound with the times of its characters, relative to the piece."""
    return json.dumps(
        {
            "audio": base64.b64encode(bytes(2 * samples)).decode(),
            "isFinal": None,
            "normalizedAlignment": None,
            "alignment": {
                "chars": list(chars),
                "charStartTimesMs": [n * step_ms for n in range(len(chars))],
                "charDurationsMs": [step_ms] * len(chars),
            },
        }
    ).encode()


def test_elevenlabs_is_begun_fed_and_ended_as_its_own_client_does():
    voice = eleven()
    assert voice.url().startswith("wss://api.elevenlabs.io/v1/text-to-speech/v1/stream-input?")
    assert "output_format=pcm_16000" in voice.url()
    assert voice.headers() == {"xi-api-key": "key"}
    (first,) = sent(voice.begin())
    assert first == {"text": " ", "generation_config": {"chunk_length_schedule": [50, 90, 120]}}
    assert sent(voice.say("Hello")) == [{"text": "Hello "}]
    assert sent(voice.finish()) == [{"text": ""}]


def test_elevenlabs_words_may_go_on_in_the_next_piece_of_sound():
    voice = eleven()
    first = voice.receive(audio(16000, "Good mor"))  # one second
    assert first.times == ((0.0, 0.2),)
    second = voice.receive(audio(8000, "ning to you"))
    assert second.times == (
        (pytest.approx(0.25), pytest.approx(1.2)),
        (pytest.approx(1.25), pytest.approx(1.35)),
    )
    last = voice.receive(b'{"audio": null, "isFinal": true}')
    assert last.done
    assert last.times == ((pytest.approx(1.4), pytest.approx(1.55)),)


def test_elevenlabs_errors_are_errors_of_the_world_and_nonsense_is_the_peers_fault():
    with pytest.raises(OSError, match="quota"):
        eleven().receive(b'{"error": "x", "message": "quota exceeded"}')
    with pytest.raises(ValueError, match="audio"):
        eleven().receive(b'{"audio": 7}')


# --- Cartesia ------------------------------------------------------------------------------------


def test_cartesia_speaks_each_utterance_in_a_context_of_its_own():
    voice = CartesiaConnection(CartesiaSettings("cartesia", "v1"), "key", 8000)
    assert voice.headers()["Authorization"] == "Bearer key"
    voice.begin()
    (said,) = sent(voice.say("Hello "))
    assert (said["context_id"], said["transcript"], said["continue"]) == ("u1", "Hello ", True)
    assert said["output_format"]["sample_rate"] == 8000
    assert said["voice"]["id"] == "v1"
    (ended,) = sent(voice.finish())
    assert (ended["transcript"], ended["continue"]) == ("", False)
    assert sent(voice.cancel()) == [{"context_id": "u1", "cancel": True}]
    voice.begin()
    late = {"type": "chunk", "context_id": "u1", "data": base64.b64encode(b"abcd").decode()}
    assert voice.receive(json.dumps(late).encode()).pcm == b""
    fresh = {**late, "context_id": "u2"}
    assert voice.receive(json.dumps(fresh).encode()).pcm == b"abcd"


def test_cartesia_says_when_words_sound_and_when_it_is_done():
    voice = CartesiaConnection(CartesiaSettings("cartesia", "v1"), "key", 8000)
    voice.begin()
    words = {"words": ["Good", "day."], "start": [0.0, 0.3], "end": [0.25, 0.6]}
    told = {"type": "timestamps", "context_id": "u1", "done": False, "word_timestamps": words}
    news = voice.receive(json.dumps(told).encode())
    assert news.times == ((0.0, 0.25), (0.3, 0.6))
    done = {"type": "done", "context_id": "u1", "done": True, "status_code": 200}
    assert voice.receive(json.dumps(done).encode()).done
    wrong = {"type": "error", "context_id": "u1", "done": True, "title": "T", "message": "no voice"}
    with pytest.raises(OSError, match="no voice"):
        voice.receive(json.dumps(wrong).encode())


# --- words by proportion -------------------------------------------------------------------------


def test_words_are_placed_with_the_sound_and_none_is_left_over():
    spoken = SpokenText(8000, Pace())
    for token in ("Go", "od mor", "ning to ", "you."):
        spoken.add(token)
    text, words = spoken.sound(2400)
    more, rest = spoken.end()
    assert text + more == "Good morning to you."
    assert [word.text for word in (*words, *rest)] == ["Good", "morning", "to", "you."]
    assert rest[-1].end == pytest.approx(0.0)


def test_the_pace_is_learned_from_what_was_spoken():
    pace = Pace()
    for _ in range(20):
        spoken = SpokenText(8000, pace)
        spoken.add("a text of forty characters, or about so.")
        spoken.sound(4 * 8000)
        spoken.end()
    assert pace.seconds == pytest.approx(0.1, rel=0.02)
