"""What softphones that no one here wrote have in common, as tests drive them."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import soundfile

KEY_SECONDS = 0.3
"""How long a key is held down: a slow thumb."""


class Phone(Protocol):
    """What every softphone can do."""

    async def call(self, uri: str) -> None:
        """Call, and wait for the answer."""

    async def say(self, sound: Path) -> None:
        """Play a file into the call from now on, in the place of what was being played."""

    async def press(self, key: str) -> None:
        """Press a key and let it go."""

    async def hold(self) -> None:
        """Put the other side on hold."""

    async def resume(self) -> None:
        """Take the other side back."""

    async def hang_up(self) -> None:
        """End the call."""

    async def hung_up_on(self) -> None:
        """Wait until the other side ended the call."""

    def heard(self) -> npt.NDArray[np.int16]:
        """Return what the phone heard, as it recorded it itself, at 8000 Hz."""


def wave(path: Path, pcm: bytes, rate: int = 8000, channels: int = 1) -> Path:
    """Write samples as a WAV file, the same in all channels."""
    samples = np.repeat(np.frombuffer(pcm, dtype="<i2")[:, None], channels, axis=1)
    soundfile.write(path, samples, rate, subtype="PCM_16")
    return path


def loudest(sound: npt.NDArray[Any], rate: int = 8000) -> float:
    """Return the strongest frequency of a sound in hertz."""
    spectrum = np.abs(np.fft.rfft(sound.astype(np.float64) * np.hanning(len(sound))))
    return float(np.argmax(spectrum) * rate / len(sound))


def free_tcp_port() -> int:
    """Return a TCP port that is free now, and the next one too (baresip takes both)."""
    while True:
        with socket.socket() as probe, socket.socket() as next_one:
            # Far from the ports the kernel hands out, so that nobody else is given them next.
            port = 10_000 + 2 * secrets.randbelow(10_000)
            try:
                probe.bind(("127.0.0.1", port))
                next_one.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port
