"""Where turns begin and end by energy, and that nothing of what was no turn belongs to one."""

from __future__ import annotations

import numpy as np

from gateway.call.caller_stream import ContinuousStream
from gateway.call.edges import Edges
from media.frame import AudioFrame

RATE = 8000


def stream(*spans: tuple[float, int]) -> ContinuousStream:
    """Return a stream that heard (seconds, amplitude) of noise."""
    made = np.random.default_rng(1)
    heard = ContinuousStream(RATE)
    for seconds, amplitude in spans:
        count = int(seconds * RATE)
        sound = (made.standard_normal(count) * amplitude).clip(-30000, 30000).astype("<i2")
        heard.push(AudioFrame(sound.tobytes(), RATE, heard.end), heard.end / RATE)
    return heard


def test_a_turn_begins_where_its_sound_does() -> None:
    edges = Edges(stream((2.0, 5), (1.0, 3000)))
    assert abs(edges.begin(int(2.3 * RATE), sounding=False) - 2 * RATE) <= 0.05 * RATE


def test_a_click_that_was_no_turn_does_not_begin_the_next() -> None:
    edges = Edges(stream((1.0, 5), (0.05, 3000), (5.0, 5), (1.0, 3000)))
    edges.begin(RATE, sounding=False)
    edges.drop(3 * RATE)
    start = edges.begin(int(6.1 * RATE), sounding=False)
    assert start > 6 * RATE
    assert edges.beginning(int(6.1 * RATE)) > 6 * RATE
