"""Doubtful words are listened to again only where they are the turn's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from gateway.backends.cascade.recognisers.moonshine import Moonshine, MoonshineSettings
from gateway.backends.cascade.recognisers.moonshine_model import Array
from inference.runtime import Runtime, RuntimeSettings
from media.frame import AudioFrame, Samples
from tests.media.speech import recording

RATE = 8000
SAID = recording("complete/sti_c13_45e6e6bb.flac")
NEVER_SURE = 1.0
"""No mean logarithm of probabilities is as high."""


@pytest.fixture(scope="module")
def doubting(runtime: Runtime) -> Moonshine:
    return Moonshine(runtime, MoonshineSettings(doubtful=NEVER_SURE))


class Looks:
    """Counts how often sound is listened to."""

    def __init__(self, moonshine: Moonshine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        model, _ = moonshine.load()
        run = model._encoder

        def counted(inputs: Mapping[str, Array], outputs: Sequence[str] | None) -> list[Array]:
            self.count += 1
            return run(inputs, outputs)

        monkeypatch.setattr(model, "_encoder", counted)


async def ask(moonshine: Moonshine, samples: Samples, end: int) -> None:
    stream = moonshine.open(RATE, ())
    for first in range(0, len(samples), 160):
        stream.feed(AudioFrame(samples[first : first + 160].tobytes(), RATE, first))
    await stream.transcribe(0, end, final=True)
    await stream.close()


def loud_moment(samples: Samples) -> int:
    """Return where the loudest 60 ms end."""
    power = np.convolve(samples.astype(np.float64) ** 2, np.ones(480), "valid")
    return int(power.argmax()) + 480


@pytest.mark.real_time
async def test_words_in_the_middle_of_a_sentence_are_evidence(
    doubting: Moonshine, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Looks(doubting, monkeypatch)
    samples = SAID.samples(mulaw=True)
    cut = loud_moment(samples)
    await ask(doubting, samples[:cut], cut)
    assert looks.count == 1


@pytest.mark.real_time
@pytest.mark.parametrize("noise", [0, 30, 300])
async def test_words_before_a_pause_are_the_turns(
    doubting: Moonshine, monkeypatch: pytest.MonkeyPatch, noise: int
) -> None:
    looks = Looks(doubting, monkeypatch)
    samples = SAID.samples(mulaw=True)
    end = int(SAID.end * RATE)
    rest = np.random.default_rng(1).normal(size=RATE // 8) * noise
    await ask(doubting, np.concatenate((samples[:end], rest.astype(np.int16))), end)
    assert looks.count == 2


@pytest.mark.real_time
async def test_who_goes_on_meanwhile_makes_a_second_look_vain(
    doubting: Moonshine, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Looks(doubting, monkeypatch)
    samples = SAID.samples(mulaw=True)
    await ask(doubting, samples[: loud_moment(samples)], loud_moment(samples) - RATE // 2)
    assert looks.count == 1


@pytest.mark.real_time
async def test_while_models_are_busy_a_pause_goes_first_and_answers_what_was_asked_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runtime = Runtime(RuntimeSettings(workers=1))
    busy = Moonshine(runtime, MoonshineSettings(doubtful=NEVER_SURE))
    looks = Looks(busy, monkeypatch)
    samples = SAID.samples(mulaw=True)
    moment, free = loud_moment(samples), threading.Event()
    stream = busy.open(RATE, ())

    def feed(start: int, end: int) -> None:
        stream.feed(AudioFrame(samples[start:end].tobytes(), RATE, start))

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(runtime.run(free.wait))
            await asyncio.sleep(0)
            feed(0, moment)
            early = group.create_task(stream.transcribe(0, moment, final=True))
            await asyncio.sleep(0)
            feed(moment, len(samples))
            late = group.create_task(stream.transcribe(0, len(samples), final=True))
            await asyncio.sleep(0)
            free.set()
    finally:
        await stream.close()
        runtime.close()
    assert looks.count == 2
    assert early.result().text == late.result().text
