"""A second look at the same sound begins with what the first one wrote."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest

import numpy as np
import pytest

from gateway.backends.cascade.recognisers.moonshine import Moonshine, MoonshineSettings
from gateway.backends.cascade.recognisers.moonshine_model import Array
from inference.runtime import Runtime
from media.frame import AudioFrame
from tests.media.speech import recording

RATE = 8000
SAID = [
    recording("complete/tel_ibm2_howcanihelp.flac"),
    recording("complete/sti_c13_45e6e6bb.flac"),
    recording("midpause/tel_ar40_caller_name.flac"),
]


class Steps:
    """Counts how often the decoder is asked."""

    def __init__(self, moonshine: Moonshine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        model, _ = moonshine.load()
        run = model._decoder

        def counted(inputs: Mapping[str, Array], outputs: Sequence[str] | None) -> list[Array]:
            self.count += 1
            return run(inputs, outputs)

        monkeypatch.setattr(model, "_decoder", counted)

    def taken(self) -> int:
        count, self.count = self.count, 0
        return count


def differing(one: str, other: str) -> int:
    return sum(a != b for a, b in zip_longest(one.lower().split(), other.lower().split()))


def test_the_same_words_in_fewer_steps(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    once = Moonshine(runtime, MoonshineSettings(doubtful=-math.inf))
    steps = Steps(once, monkeypatch)
    plain = again = 0
    for said in SAID:
        samples = said.samples(mulaw=True)
        first = once.hear(samples, RATE)
        plain += steps.taken()
        second = once.hear(samples, RATE, draft=first.pieces)
        again += steps.taken()
        assert differing(second.text, first.text) <= 2  # the second look may hear a word better
    assert again <= 0.85 * plain


def test_a_draft_of_something_else_changes_nothing(moonshine: Moonshine) -> None:
    other = moonshine.hear(SAID[1].samples(mulaw=True), RATE)
    alone = moonshine.hear(SAID[0].samples(mulaw=True), RATE)
    assert moonshine.hear(SAID[0].samples(mulaw=True), RATE, draft=other.pieces) == alone


@pytest.mark.real_time
async def test_a_turn_that_goes_on_costs_what_is_new(
    moonshine: Moonshine, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(moonshine, monkeypatch)
    samples = SAID[0].samples(mulaw=True)
    start, end = int(SAID[0].start * RATE), int(SAID[0].end * RATE)
    pause = start + int(0.62 * (end - start))
    stream = moonshine.open(RATE, ())
    for first in range(0, len(samples), 160):
        stream.feed(AudioFrame(samples[first : first + 160].tobytes(), RATE, first))
    await stream.transcribe(start, pause, final=True)
    steps.taken()
    whole = await stream.transcribe(start, end, final=True)
    with_draft = steps.taken()
    await stream.close()
    fresh = moonshine.open(RATE, ())
    for first in range(0, len(samples), 160):
        fresh.feed(AudioFrame(samples[first : first + 160].tobytes(), RATE, first))
    alone = await fresh.transcribe(start, end, final=True)
    without = steps.taken()
    await fresh.close()
    assert differing(whole.text, alone.text) <= 1
    assert with_draft < without


@pytest.mark.real_time
async def test_another_turn_has_no_draft(moonshine: Moonshine) -> None:
    both = np.concatenate([each.samples(mulaw=True) for each in SAID[:2]])
    stream = moonshine.open(RATE, ())
    for first in range(0, len(both), 160):
        stream.feed(AudioFrame(both[first : first + 160].tobytes(), RATE, first))
    cut = len(SAID[0].samples(mulaw=True))
    await stream.transcribe(0, cut, final=True)
    assert stream._draft(cut, len(both)) == ()
    assert stream._draft(0, cut + 800)
    await stream.close()
