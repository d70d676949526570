"""Keys sound as ITU-T Q.23 says."""

from __future__ import annotations

import numpy as np
import pytest

from gateway.lines.twilio.tones import COLUMNS, LAYOUT, ROWS, keys_as_sound
from media.codec import wire_form

FORM = wire_form("pcmu", 8000)


@pytest.mark.parametrize("key", "".join(LAYOUT))
def test_each_key_is_its_two_tones_and_a_pause(key: str) -> None:
    (sound,) = keys_as_sound(key, FORM)
    samples = np.frombuffer(FORM.decode(sound), dtype="<i2").astype(np.float64)
    tone, pause = samples[:800], samples[800:]
    assert len(pause) == 800
    assert not pause.any()
    strength = np.abs(np.fft.rfft(tone))
    both = ROWS + COLUMNS
    loudest = sorted(both, key=lambda hertz: -strength[round(hertz / 10)])[:2]
    row = next(n for n, line in enumerate(LAYOUT) if key in line)
    assert set(loudest) == {ROWS[row], COLUMNS[LAYOUT[row].index(key)]}


def test_what_is_no_key_is_left_out() -> None:
    assert keys_as_sound("x y", FORM) == []
    assert len(keys_as_sound("1a#", FORM)) == 3
