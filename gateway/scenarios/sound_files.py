"""Keeps a call with sound for people: a stereo recording, and its events as Audacity labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gateway.scenarios.held import Held, pieces
from gateway.scenarios.sound_parts import FRAME, RATE
from media.codec import WireForm
from media.sound_file import write


def keep(folder: Path, name: str, held: Held) -> Path:
    """Write a recording (left the caller, right the agent) and labels; raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = "".join(c if c.isalnum() else "-" for c in name)[:80]
    path = folder / f"{stem}.wav"
    write(path, _stereo(held), RATE)
    labels = [(each.start, each.end, f"caller: {each.kind}") for each in held.spoken]
    labels += [(each.start, each.end, "agent sounds") for each in held.stretches]
    labels += [(at, at, f"agent: {text}") for at, text in pieces(held)]
    labels += [(at, at, line) for at, line, _ in held.lines]
    # Audacity: seconds, seconds and a text, with tabs between.
    text = "".join(
        f"{start - held.began:.3f}\t{end - held.began:.3f}\t{what}\n"
        for start, end, what in sorted(labels)
    )
    path.with_suffix(".txt").write_text(text, "utf-8")
    return path


def _stereo(held: Held) -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    last = max([at for at, _ in held.sent] + [each.end for each in held.spoken] + [held.began])
    length = round((last - held.began) * RATE) // FRAME * FRAME + 2 * FRAME
    sides = np.zeros((length, 2), np.int16)
    for at in range(0, length, FRAME):
        sides[at : at + FRAME, 0] = np.frombuffer(held.notes.sound(at), "<i2")
    form = WireForm("pcmu", RATE, 1)
    for when, payload in held.sent:
        start = round((when - held.began) * RATE)
        sound = np.frombuffer(form.decode(payload), "<i2")[: length - start]
        sides[start : start + len(sound), 1] = sound
    return sides
