"""Keys as sound: a media stream has no message for keys towards the caller."""

from __future__ import annotations

import numpy as np

from media.codec import WireForm

ROWS = (697, 770, 852, 941)
COLUMNS = (1209, 1336, 1477, 1633)
"""Hertz; ITU-T Q.23, table 1."""

LAYOUT = ("123A", "456B", "789C", "*0#D")

TONE_SECONDS = 0.1
PAUSE_SECONDS = 0.1
"""Twice and more what every receiver must understand (ITU-T Q.24: 40 ms each in the strictest
networks), since a voice codec may lie on the way."""

AMPLITUDE = 0.2
"""Of each of the two tones, full scale 1: -11 dBm0 together, as telephones send."""


def keys_as_sound(keys: str, form: WireForm) -> list[bytes]:
    """Return each key's tone and pause in wire form; what is no key is left out."""
    time = np.arange(round(form.rate * TONE_SECONDS)) / form.rate
    pause = form.silence(round(form.rate * PAUSE_SECONDS))
    sounds = []
    for key in keys.upper():
        place = [(row, line.index(key)) for row, line in enumerate(LAYOUT) if key in line]
        if not place:
            continue
        row, column = place[0]
        low, high = ROWS[row], COLUMNS[column]
        wave = np.sin(2 * np.pi * low * time) + np.sin(2 * np.pi * high * time)
        pcm = np.rint(wave * AMPLITUDE * 32767).astype("<i2").tobytes()
        sounds.append(form.encode(pcm) + pause)
    return sounds
