"""G.722 at 64 kbit/s (ITU-T G.722, mode 1) by libg722: one direction, at 16 or 8 kHz.

One byte holds two samples of 16 kHz; at 8 kHz the lower band alone is written and read, which any
far side understands.
"""

from __future__ import annotations

import G722 as libg722  # noqa: N811 - it is a module, called after the standard

RATES = (8000, 16000)

_BITS = 64_000


class G722:
    """Keeps the state of one direction: the codec predicts each sample from those before."""

    def __init__(self, rate: int) -> None:
        if rate not in RATES:
            raise ValueError(f"G.722 at {rate} Hz: allowed rates are 8000, 16000")
        self._library = libg722.G722(rate, _BITS, False)

    def encode(self, pcm: bytes) -> bytes:
        """Write 16-bit samples."""
        payload: bytes = self._library.encode(memoryview(pcm).cast("h"))
        return payload

    def decode(self, payload: bytes) -> bytes:
        """Read to 16-bit samples; there is no payload that is wrong."""
        pcm: bytes = self._library.decode(payload).tobytes()
        return pcm
