"""The embedded recogniser on recorded people, as they sound on the telephone, and on no people."""

from __future__ import annotations

import asyncio
import re

import numpy as np
import pytest

from gateway.backends.cascade.ports import Transcript
from gateway.backends.cascade.recognisers.moonshine import Moonshine, MoonshineSettings
from inference.runtime import Runtime
from media.frame import AudioFrame, Samples
from tests.media.speech import Recording, recording

RATE = 8000

COFFEE = recording("complete/sti_c13_45e6e6bb.flac")
HELP = recording("complete/tel_ibm2_howcanihelp.flac")
WEDNESDAY = recording("short_turn/wb_sm_st_wednesday.flac")


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower())


def hear(
    moonshine: Moonshine,
    samples: Samples,
    start: int,
    end: int,
    *,
    final: bool = True,
    at: int = 0,
) -> Transcript:
    """Feed a stream in frames of 20 ms from position `at`, then ask once."""

    async def call() -> Transcript:
        stream = moonshine.open(RATE, ())
        for first in range(0, len(samples), 160):
            stream.feed(AudioFrame(samples[first : first + 160].tobytes(), RATE, at + first))
        try:
            return await stream.transcribe(start, end, final=final)
        finally:
            await stream.close()

    return asyncio.run(call())


def turn(moonshine: Moonshine, recorded: Recording, *, final: bool = True) -> Transcript:
    samples = recorded.samples(mulaw=True)
    return hear(
        moonshine, samples, int(recorded.start * RATE), int(recorded.end * RATE), final=final
    )


def test_a_caller_is_understood(moonshine: Moonshine) -> None:
    found = turn(moonshine, HELP)
    assert words(found.text) == words(
        "Thank you for calling. This is Dave speaking. How can I help you?"
    )
    assert found.final


def test_words_for_evidence_are_nearly_as_good(moonshine: Moonshine) -> None:
    found = turn(moonshine, HELP, final=False)
    assert {"calling", "dave", "help"} <= set(words(found.text))
    assert not found.final


def test_a_single_short_word_is_understood(moonshine: Moonshine) -> None:
    assert words(turn(moonshine, WEDNESDAY).text) == ["wednesday"]


def test_most_of_a_longer_order_is_understood(moonshine: Moonshine) -> None:
    heard = words(turn(moonshine, COFFEE).text)
    assert {"coffee", "whole", "milk", "brown", "sugar"} <= set(heard)


def test_only_the_stretch_asked_for_is_heard(moonshine: Moonshine) -> None:
    """Two callers' turns lie in one stream; each is found by its positions."""
    first, second = HELP.samples(mulaw=True), WEDNESDAY.samples(mulaw=True)
    both = np.concatenate([first, second])
    at = 123_456
    start = at + len(first) + int(WEDNESDAY.start * RATE)
    end = at + len(first) + int(WEDNESDAY.end * RATE)
    assert words(hear(moonshine, both, start, end, at=at).text) == ["wednesday"]


def test_a_stretch_that_is_long_gone_has_no_words(moonshine: Moonshine) -> None:
    long = Moonshine(Runtime(), MoonshineSettings(kept=1.0))
    samples = np.concatenate([HELP.samples(mulaw=True), np.zeros(2 * RATE, np.int16)])
    assert hear(long, samples, 0, int(HELP.end * RATE)).text == ""


def noise(level: float, seconds: float) -> Samples:
    source = np.random.default_rng(11)
    return source.normal(0, 32768 * 10 ** (level / 20), int(seconds * RATE)).astype(np.int16)


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("level", [-96, -60, -35, -15])
def test_nothing_is_heard_in_noise(moonshine: Moonshine, level: float, seconds: float) -> None:
    assert moonshine.write(noise(level, seconds), RATE) == ""


@pytest.mark.parametrize("burst", [0.02, 0.1, 0.3])
def test_nothing_is_heard_in_a_burst_of_noise(moonshine: Moonshine, burst: float) -> None:
    """A knock or a cough passes the level gate; the model's own word for nothing is left out."""
    quiet = noise(-70, 0.5)
    knock = np.concatenate([quiet, noise(-20, burst), quiet])
    assert moonshine.write(knock, RATE) == ""


def test_a_hint_decides_between_what_sounds_alike(moonshine: Moonshine) -> None:
    samples = recording("complete/tel_ar40_caller_letsdoit.flac").samples(mulaw=True)
    plain = words(moonshine.write(samples, RATE))
    hinted = words(moonshine.write(samples, RATE, ("let's do it",)))
    assert plain != hinted
    assert hinted[-3:] == ["let's", "do", "it"]


def test_a_wrong_hint_changes_nothing(moonshine: Moonshine) -> None:
    samples = HELP.samples(mulaw=True)
    assert moonshine.write(samples, RATE, ("carburettor", "Zanzibar")) == moonshine.write(
        samples, RATE
    )


def test_a_very_long_turn_is_heard_to_its_end(moonshine: Moonshine) -> None:
    quick = Moonshine(Runtime(), MoonshineSettings(longest=6.0))
    pause = np.zeros(RATE // 2, np.int16)
    samples = np.concatenate([HELP.samples(mulaw=True), pause, COFFEE.samples(mulaw=True)])
    heard = words(quick.write(samples, RATE))
    assert {"calling", "dave", "milk", "sugar"} <= set(heard)


@pytest.mark.real_time
async def test_the_loop_goes_on_while_models_run(moonshine: Moonshine) -> None:
    stream = moonshine.open(RATE, ())
    stream.feed(AudioFrame(COFFEE.samples(mulaw=True).tobytes(), RATE, 0))
    ticks = 0
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(
            stream.transcribe(0, int(COFFEE.end * RATE), final=True), name="transcribe"
        )
        while not asked.done():
            await asyncio.sleep(0)
            ticks += 1
    await stream.close()
    assert ticks > 10


def test_a_runtime_that_is_closed_fails_as_the_port_says() -> None:
    closed = Runtime()
    recogniser = Moonshine(closed)
    closed.close()
    with pytest.raises(OSError, match="recogniser failed"):
        hear(recogniser, HELP.samples(), 0, 8000)
