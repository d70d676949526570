"""Where in an utterance something is heard, and when that is said."""

from __future__ import annotations

import numpy as np
import pytest

from gateway.call.onset import Onsets
from media.codec import wire_form

RATE = 8000
FORM = wire_form("pcmu", RATE)


def tone(seconds: float, db: float) -> bytes:
    """Make a tone of this level (RMS, dBFS)."""
    peak = 32768 * 10 ** (db / 20) * 2**0.5
    at = np.arange(int(seconds * RATE)) / RATE
    return (peak * np.sin(2 * np.pi * 440 * at)).astype("<i2").tobytes()


SOFT, LOUD = tone(0.09, -55.0), tone(0.3, -20.0)


def test_a_soft_beginning_is_not_what_is_heard_first() -> None:
    onsets = Onsets(FORM)
    assert onsets.push(1, SOFT + LOUD) is None
    heard = onsets.began(1, 10.0)
    assert heard == pytest.approx(10.09, abs=0.002)


def test_sound_that_comes_piece_by_piece_is_waited_for() -> None:
    onsets = Onsets(FORM)
    pieces = [(SOFT + LOUD)[at : at + 320] for at in range(0, 3200, 320)]
    assert onsets.push(1, pieces[0]) is None
    assert onsets.began(1, 10.0) is None
    later = [onsets.push(1, piece) for piece in pieces[1:]]
    said = [when for when in later if when is not None]
    assert said == [pytest.approx(10.09, abs=0.002)]


def test_the_wire_form_serves_as_well() -> None:
    onsets = Onsets(FORM)
    onsets.push(1, b"", FORM.encode(SOFT + LOUD))
    assert onsets.began(1, 10.0) == pytest.approx(10.09, abs=0.002)


def test_what_is_never_audible_began_all_the_same() -> None:
    onsets = Onsets(FORM)
    onsets.push(1, bytes(16000))
    assert onsets.began(1, 10.0) is None
    assert onsets.over(1) == 10.0
    assert onsets.over(1) is None


def test_an_utterance_that_never_began_says_nothing() -> None:
    onsets = Onsets(FORM)
    onsets.push(1, bytes(1600))
    assert onsets.over(1) is None
    onsets.push(2, LOUD)
    assert onsets.over(2) is None
