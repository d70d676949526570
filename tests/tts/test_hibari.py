"""The embedded voice: its sound by numbers, and its word times against its sound."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from inference.runtime import Runtime
from media.level import audible, level
from tts.hibari import Hibari
from tts.sound import ACTIVE_DB, Sound

SENTENCES = [
    "Thank you for calling Platinum Motors.",
    "How can I help you today?",
    "Yes.",
    "I have two times free: Monday at 8, or Wednesday at 3:30.",
    "See you then!",
    "One moment please,",
]


def samples(sound: Sound) -> np.ndarray:
    return np.frombuffer(sound.pcm, "<i2").astype(np.int64)


@pytest.mark.parametrize("rate", [8000, 24000])
@pytest.mark.parametrize("text", SENTENCES)
def test_it_is_heard_at_once_at_one_level_and_whole(hibari: Hibari, text: str, rate: int) -> None:
    sound = hibari.render(text, rate)
    intervals = audible(sound.pcm, rate)
    assert intervals[0][0] / rate <= 0.02
    assert sound.seconds(rate) - intervals[-1][1] / rate <= 0.15
    spoken = b"".join(sound.pcm[2 * start : 2 * end] for start, end in intervals)
    assert level(spoken) == pytest.approx(ACTIVE_DB, abs=3)
    assert np.abs(samples(sound)).max() < 0.95 * 32768
    # Somebody who speaks at a usual pace needs 0.25 to 0.65 s a word.
    assert 0.15 <= sound.seconds(rate) / len(sound.words) <= 0.8


def test_speech_is_in_the_band_of_speech(hibari: Hibari) -> None:
    """No rumble, no whistle, and nothing folded down into the telephone's band."""
    at_8k = samples(hibari.render(SENTENCES[0], 8000)).astype(float)
    at_24k = samples(hibari.render(SENTENCES[0], 24000)).astype(float)

    def share(signal: np.ndarray, rate: int, low: float, high: float) -> float:
        power = np.abs(np.fft.rfft(signal)) ** 2
        hertz = np.fft.rfftfreq(len(signal), 1 / rate)
        return float(power[(hertz >= low) & (hertz < high)].sum() / power.sum())

    assert share(at_8k, 8000, 0, 70) < 0.01
    assert share(at_8k, 8000, 150, 3400) > 0.95
    below_4k = share(at_24k, 24000, 0, 3500)
    for low, high in ((0, 500), (500, 1500), (1500, 3500)):
        wide = share(at_24k, 24000, low, high) / below_4k
        narrow = share(at_8k, 8000, low, high) / share(at_8k, 8000, 0, 3500)
        assert 10 * np.log10(narrow / wide) == pytest.approx(0, abs=1)


@pytest.mark.parametrize("speed", [0.8, 1.0, 1.4])
def test_durations_are_in_units_of_25_ms_at_every_speed(runtime: Runtime, speed: float) -> None:
    """The last word ends with the sound, and the first begins with it."""
    sound = Hibari(runtime, speed).render("Thank you for calling Platinum Motors today.", 24000)
    assert sound.words[0].start <= 0.12
    assert sound.words[-1].end == pytest.approx(sound.seconds(24000), abs=0.12)


def test_speed_is_speed(runtime: Runtime, hibari: Hibari) -> None:
    text = "Thank you for calling Platinum Motors today."
    usual, fast = hibari.render(text, 8000), Hibari(runtime, 1.4).render(text, 8000)
    assert fast.seconds(8000) < 0.85 * usual.seconds(8000)


def test_word_times_agree_with_what_is_heard(hibari: Hibari) -> None:
    rate = 24000
    sound = hibari.render("I can offer you Tuesday, ten thirty: is that okay?", rate)
    heard = audible(sound.pcm, rate, threshold_db=-45, join_seconds=0.15)
    assert len(heard) == 2  # the colon makes the one long pause
    before, after = sound.words[6], sound.words[7]
    assert (before.text, after.text) == ("thirty:", "is")
    # The time of a word holds the pause that its mark makes.
    assert before.end >= heard[0][1] / rate
    assert after.start == pytest.approx(heard[1][0] / rate, abs=0.1)


def test_words_are_in_order_and_within_the_sound(hibari: Hibari) -> None:
    sound = hibari.render("Your code is AB12-XZ, call 555-0134 at 10:30, or pay $1,249.50.", 8000)
    ends = [0.0]
    for word in sound.words:
        assert ends[-1] <= word.start <= word.end <= sound.seconds(8000)
        ends.append(word.end)
    glued = "".join(word.text if word.glued else f" {word.text}" for word in sound.words)
    assert glued.strip() == "Your code is AB12-XZ, call 555-0134 at 10:30, or pay $1,249.50."


def test_a_letter_is_not_an_article(hibari: Hibari) -> None:
    """`A` as a letter is a long vowel, as an article next to none."""
    letter = hibari.render("Plan A.", 8000).words[1]
    article = hibari.render("A plan.", 8000).words[0]
    assert letter.end - letter.start > 1.5 * (article.end - article.start)


def test_several_sentences_have_pauses_between(hibari: Hibari) -> None:
    sound = hibari.render("Good morning. How are you?", 8000)
    assert len(audible(sound.pcm, 8000, join_seconds=0.25)) == 2
    assert sound.mark == "?"


def test_a_clause_that_goes_on_sounds_unlike_one_that_ends(hibari: Hibari) -> None:
    ends = hibari.render("I can find you a time", 8000)
    goes_on = hibari.render("I can find you a time", 8000, goes_on=True)
    assert (ends.mark, goes_on.mark) == (".", ",")
    assert ends.pcm != goes_on.pcm


def test_the_same_text_is_the_same_sound_in_any_thread(hibari: Hibari) -> None:
    with ThreadPoolExecutor(4) as threads:
        sounds = list(threads.map(lambda text: hibari.render(text, 8000), SENTENCES * 2))
    assert sounds == [hibari.render(text, 8000) for text in SENTENCES] * 2


def test_a_very_long_number_is_said_to_its_end(hibari: Hibari) -> None:
    sound = hibari.render("1234567890" * 15, 8000)
    assert len(sound.words) == 150
    starts = [word.start for word in sound.words]
    assert starts == sorted(starts)
    assert sound.seconds(8000) > 30


@pytest.mark.parametrize("text", ["", "  ", "👍", "—", "你好"])
def test_what_it_cannot_say_is_silence(hibari: Hibari, text: str) -> None:
    assert hibari.render(text, 8000).pcm == b""
