"""Opus (RFC 6716) by libopus: mono, at the call's own rate, with its own answers to loss.

The library is the one that PyAV's wheel brings along, loaded by itself, or else the system's.
Both ends of a call are made at the call's rate: the codec itself takes 48 kHz to any of its rates,
and no resampler is needed beside it.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from functools import lru_cache
from pathlib import Path

CLOCK = 48000
"""RTP clock of Opus, whatever rate is encoded (RFC 7587, section 4.1)."""

RATES = (8000, 12000, 16000, 24000, 48000)
"""Rates that Opus encodes and decodes by itself (RFC 6716, section 2)."""

LONGEST_SECONDS = 0.12
"""The longest packet (RFC 6716, section 2.1.4)."""

SMALLEST_SECONDS = 0.0025
"""What is concealed is a multiple of this (RFC 6716, section 2.1.4)."""

PACKET_MOST = 1275
"""Bytes of the largest frame (RFC 6716, section 3.2.1)."""

_VOIP = 2048
_SET_BITRATE, _SET_COMPLEXITY, _SET_FEC = 4002, 4010, 4012
_SET_LOSS, _SET_SIGNAL, _VOICE = 4014, 4024, 3001


class OpusMissing(OSError):
    """There is no libopus on this machine."""


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    for name in _candidates():
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        _declare(library)
        return library
    raise OpusMissing("libopus was not found, neither in PyAV nor on the system")


def _candidates() -> list[str]:
    found: list[str] = []
    for place in sys.path:
        # PyAV's wheels of Linux keep libraries beside the package, those of macOS within it; the
        # package itself is not needed, and not imported.
        for folder in (Path(place, "av.libs"), Path(place, "av", ".dylibs")):
            found += sorted(str(each) for each in folder.glob("*opus*"))
    if (system := ctypes.util.find_library("opus")) is not None:
        found.append(system)
    return found


def _declare(library: ctypes.CDLL) -> None:
    pointer, number, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    library.opus_encoder_create.restype = pointer
    library.opus_encoder_create.argtypes = [number, number, number, ctypes.POINTER(number)]
    library.opus_encoder_destroy.argtypes = [pointer]
    # What follows the request is variadic and must not be declared.
    library.opus_encoder_ctl.argtypes = [pointer, number]
    library.opus_encode.argtypes = [pointer, text, number, text, number]
    library.opus_decoder_create.restype = pointer
    library.opus_decoder_create.argtypes = [number, number, ctypes.POINTER(number)]
    library.opus_decoder_destroy.argtypes = [pointer]
    library.opus_decode.argtypes = [pointer, text, number, text, number, number]
    library.opus_packet_get_nb_samples.argtypes = [text, number, number]


def units(payload: bytes) -> int:
    """Return how long a payload lasts, in units of the RTP clock; 0 for what is no Opus."""
    return max(0, int(_library().opus_packet_get_nb_samples(payload, len(payload), CLOCK)))


def _check_rate(rate: int) -> None:
    if rate not in RATES:
        raise ValueError(f"Opus at {rate} Hz: allowed rates are {', '.join(map(str, RATES))}")


class OpusEncoder:
    """Writes 20 ms of 16-bit mono samples at a time; one for each stream."""

    _state: int | None = None
    "of the library; None: there is none yet"

    def __init__(
        self, rate: int, *, bitrate: int = 32000, complexity: int = 5, loss: float = 0.1
    ) -> None:
        """`bitrate` is bits per second, `loss` the share of packets for which error correction
        is sent along, `complexity` 0 to 10 (what more than 5 gives is not heard in speech)."""
        _check_rate(rate)
        self._library = _library()
        error = ctypes.c_int()
        self._state = self._library.opus_encoder_create(rate, 1, _VOIP, ctypes.byref(error))
        if error.value:
            raise OSError(f"libopus gives no encoder: error {error.value}")
        for request, value in (
            (_SET_BITRATE, bitrate),
            (_SET_COMPLEXITY, complexity),
            (_SET_FEC, 1),
            (_SET_LOSS, round(100 * loss)),
            (_SET_SIGNAL, _VOICE),
        ):
            self._library.opus_encoder_ctl(self._state, request, ctypes.c_int(value))
        self._out = ctypes.create_string_buffer(PACKET_MOST)

    def encode(self, pcm: bytes) -> bytes:
        """Return the packet of a piece of sound that lasts 2.5, 5, 10, 20, 40 or 60 ms."""
        size = self._library.opus_encode(self._state, pcm, len(pcm) // 2, self._out, PACKET_MOST)
        if size < 0:
            raise ValueError(f"{len(pcm) // 2} samples are no Opus frame")
        return ctypes.string_at(self._out, size)

    def expect_loss(self, share: float) -> None:
        """Take what the far side says of how much it loses."""
        percent = ctypes.c_int(max(0, min(30, round(100 * share))))
        self._library.opus_encoder_ctl(self._state, _SET_LOSS, percent)

    def __del__(self) -> None:
        if self._state:
            self._library.opus_encoder_destroy(self._state)


class OpusDecoder:
    """Reads packets to 16-bit mono samples, in their order, and mends what is missing."""

    _state: int | None = None
    "of the library; None: there is none yet"

    def __init__(self, rate: int) -> None:
        _check_rate(rate)
        self.rate = rate
        self._library = _library()
        error = ctypes.c_int()
        self._state = self._library.opus_decoder_create(rate, 1, ctypes.byref(error))
        if error.value:
            raise OSError(f"libopus gives no decoder: error {error.value}")
        self._most = round(rate * LONGEST_SECONDS)
        self._out = ctypes.create_string_buffer(2 * self._most)
        self._step = round(rate * SMALLEST_SECONDS)

    def decode(self, payload: bytes) -> bytes:
        """Read a packet; raises ValueError for what is none."""
        return self._decode(payload, self._most, 0)

    def mend(self, samples: int, following: bytes | None) -> bytes:
        """Return a substitute for so many samples that are missing.

        `following` is the packet right behind the gap, which may hold a coarse copy of what was
        lost (RFC 6716, section 2.1.7); it is to be decoded itself afterwards.
        """
        whole = -(-samples // self._step) * self._step
        if following:
            try:
                return self._decode(following, whole, 1)[: 2 * samples]
            except ValueError:
                pass  # it will be found to be garbage when it is its turn
        return self._decode(None, whole, 0)[: 2 * samples]

    def _decode(self, payload: bytes | None, samples: int, correct: int) -> bytes:
        size = 0 if payload is None else len(payload)
        if payload is not None and not size:
            raise ValueError("an empty payload is no Opus packet")
        count = self._library.opus_decode(
            self._state, payload, size, self._out, min(samples, self._most), correct
        )
        if count < 0:
            raise ValueError(f"no Opus packet: error {count}")
        return ctypes.string_at(self._out, 2 * count)

    def __del__(self) -> None:
        if self._state:
            self._library.opus_decoder_destroy(self._state)
