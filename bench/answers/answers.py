"""Answers to placed calls: what was recorded of people, and greetings of machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.turns.recordings import RATE, Recording
from gateway.backends.cascade.voices.local import LocalVoice
from media.codec import wire_form
from media.frame import Samples

Sound = npt.NDArray[np.float64]

PCMU = wire_form("pcmu", RATE)

LONGEST = 8.0
"""Seconds; what was recorded of somebody who spoke for longer is a story, and no answer."""
KINDS = ("answer", "backchannel", "complete", "incomplete", "interruption", "short_turn")
NOISE_DB = -15.0
"""Below the voice: a street, a kitchen, a car."""
LINE = 0.0003
"""What a quiet line has of its own."""
AFTER = 6.0
"""Seconds in which the answer waits for us."""

HELLO = "short_turn/wb_sm_st_when.flac"
"""One short word, as people lift a receiver with."""

SENTENCES = {
    "short": ("Hi, this is Anna, leave a message.",),
    "plain": (
        "You have reached the voicemail of Peter Brown.",
        "Please leave a message after the tone.",
    ),
    "chatty": (
        "Hey, it's Maria.",
        "I can't come to the phone right now.",
        "You know what to do, so do it after the beep.",
    ),
    "name only": ("Peter Brown.",),
    "office": (
        "Thank you for calling Brown and Partners.",
        "Our office is closed at the moment.",
        "Our opening hours are Monday to Friday from nine to five.",
        "If you leave your name and your number, we will call you back on the next working day.",
    ),
    "carrier": (
        "The person you are calling is not available.",
        "At the tone, please record your message.",
        "When you have finished recording, you may hang up, or press one for more options.",
    ),
}
PAUSES = (0.3, 0.8, 1.6)
"""Seconds between its sentences."""
BEEPS = ((440.0, 0.6), (1000.0, 0.3), (1400.0, 0.2), (850.0, 1.5))
"""Frequency and length."""
BEFORE_BEEP = (0.2, 0.9)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer as a telephone line brings it."""

    name: str
    kind: str
    samples: Samples
    end: float
    "seconds: the last word, or the end of the beep"
    beeps: bool = False


def people(recordings: Sequence[Recording]) -> list[Answer]:
    """Make answers of what was recorded of people: as it is, in noise, and after a hello."""
    fit = [one for one in recordings if one.kind in KINDS and one.end - one.start <= LONGEST]
    hello = next(_voice(one) for one in recordings if one.file == HELLO)
    return [answer for one in fit if not one.cut for answer in _versions(one, hello)]


def _voice(recording: Recording) -> Samples:
    at = round(recording.start * RATE)
    return recording.samples[at : round(recording.end * RATE)]


def _versions(recording: Recording, hello: Samples) -> Iterator[Answer]:
    voice = _voice(recording).astype(np.float64) / 32768
    lift = _silence(0.6)
    plain = np.concatenate([lift, voice])
    twice = np.concatenate([lift, hello.astype(np.float64) / 32768, _silence(0.5), voice])
    loud = float(np.sqrt(np.mean(voice**2)))
    for name, sound, noise in (
        ("", plain, LINE),
        ("noise", plain, max(LINE, loud * 10 ** (NOISE_DB / 20))),
        ("hello", twice, LINE),
    ):
        end = len(sound) / RATE
        samples = _line(np.concatenate([sound, _silence(AFTER)]), noise, colour=name == "noise")
        yield Answer(f"{recording.file} {name}".strip(), "person", samples, end)


async def machines(voice: LocalVoice) -> list[Answer]:
    """Make greetings, with pauses, beeps and without."""
    found = [_beep_at_once(*beep) for beep in BEEPS]
    for name, sentences in SENTENCES.items():
        pieces = [await _spoken(voice, each) for each in sentences]
        found += [one for gap in PAUSES[: len(pieces)] for one in _greetings(name, pieces, gap)]
    return found


async def _spoken(voice: LocalVoice, text: str) -> Sound:
    sound = await voice.clauses.say(text, RATE)
    return np.frombuffer(sound.pcm, "<i2").astype(np.float64) / 32768


def _greetings(name: str, pieces: list[Sound], gap: float) -> Iterator[Answer]:
    sound = _silence(0.7)
    for at, piece in enumerate(pieces):
        sound = np.concatenate([sound, *([_silence(gap)] if at else []), piece])
    told = f"{name}, pauses of {gap} s"
    if len(pieces) > 1 or name == "short":
        end = len(sound) / RATE
        samples = _line(np.concatenate([sound, _silence(AFTER)]), LINE)
        yield Answer(f"{told}, no beep", "no beep", samples, end)
    for hertz, seconds in BEEPS:
        for before in BEFORE_BEEP:
            whole = np.concatenate([sound, _silence(before), _tone(hertz, seconds)])
            end = len(whole) / RATE
            samples = _line(np.concatenate([whole, _silence(AFTER)]), LINE)
            kind = f"{name} and a beep"
            label = f"{told}, {hertz:.0f} Hz for {seconds} s after {before} s"
            yield Answer(label, kind, samples, end, beeps=True)


def _beep_at_once(hertz: float, seconds: float) -> Answer:
    sound = np.concatenate([_silence(0.4), _tone(hertz, seconds)])
    samples = _line(np.concatenate([sound, _silence(AFTER)]), LINE)
    name = f"{hertz:.0f} Hz for {seconds} s at once"
    return Answer(name, "beep at once", samples, len(sound) / RATE, beeps=True)


def _silence(seconds: float) -> Sound:
    return np.zeros(round(seconds * RATE))


def _tone(hertz: float, seconds: float) -> Sound:
    return 0.2 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE)


def _line(sound: Sound, noise: float, *, colour: bool = False) -> Samples:
    """Put a line's noise under a sound, and send it as mu-law."""
    random = np.random.default_rng(len(sound)).normal(0, 1, len(sound))
    if colour:  # rooms and streets rumble: each sample is near the one before
        for at in range(1, len(random)):
            random[at] = 0.9 * random[at - 1] + 0.44 * random[at]
    pcm = np.clip((sound + noise * random) * 32768, -32768, 32767).astype("<i2").tobytes()
    return np.frombuffer(PCMU.decode(PCMU.encode(pcm)), "<i2")
