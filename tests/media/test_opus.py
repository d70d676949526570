"""Opus at the call's rate: what is said is heard, and what is lost is mended."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from media.level import level
from media.opus import CLOCK, RATES, OpusDecoder, OpusEncoder, units
from media.resample import convert

SPEECH = Path(__file__).parents[1] / "data/speech/complete/sti_c13_45e6e6bb.flac"


def speech(rate: int) -> bytes:
    samples, source = soundfile.read(SPEECH, dtype="int16")
    return convert(samples.tobytes(), source, rate)


def frames(pcm: bytes, rate: int) -> list[bytes]:
    size = rate // 50 * 2
    return [pcm[at : at + size] for at in range(0, len(pcm) - size + 1, size)]


def correlation(one: bytes, other: bytes, rate: int) -> float:
    """Return the best likeness of two sounds within 40 ms of each other."""
    a = np.frombuffer(one, "<i2").astype(np.float64)
    b = np.frombuffer(other, "<i2").astype(np.float64)
    most, length = rate // 25, min(len(a), len(b)) - rate // 25
    best = 0.0
    for lag in range(0, most, max(1, rate // 8000)):
        x, y = a[:length], b[lag : lag + length]
        best = max(best, float(x @ y / np.sqrt((x @ x) * (y @ y) + 1)))
    return best


@pytest.mark.parametrize("rate", RATES)
def test_speech_comes_through_at_every_rate(rate: int) -> None:
    encoder, decoder = OpusEncoder(rate), OpusDecoder(rate)
    said = frames(speech(rate)[: rate * 2 * 3], rate)
    packets = [encoder.encode(frame) for frame in said]
    heard = b"".join(map(decoder.decode, packets))
    assert len(heard) == len(b"".join(said))
    assert correlation(b"".join(said), heard, rate) > 0.85
    assert {units(packet) for packet in packets} == {CLOCK // 50}
    assert sum(map(len, packets)) * 8 / (len(packets) / 50) < 40_000  # near the 32 kbit/s asked


def test_two_rates_meet() -> None:
    """The rate is each end's own affair: the packets are the same."""
    encoder, decoder = OpusEncoder(24000), OpusDecoder(8000)
    heard = b"".join(decoder.decode(encoder.encode(f)) for f in frames(speech(24000), 24000))
    assert correlation(speech(8000), heard, 8000) > 0.85


def test_a_lost_frame_is_recovered_from_the_one_behind_it() -> None:
    rate = 16000
    said = frames(speech(rate), rate)[50:150]
    encoder = OpusEncoder(rate, loss=0.2)
    packets = [encoder.encode(frame) for frame in said]
    lost = range(10, 100, 10)
    whole, mended, guessed = OpusDecoder(rate), OpusDecoder(rate), OpusDecoder(rate)
    errors: dict[str, float] = {"mended": 0.0, "guessed": 0.0}
    for number, packet in enumerate(packets):
        right = np.frombuffer(whole.decode(packet), "<i2").astype(float)
        if number in lost:
            copies = mended.mend(rate // 50, packets[number + 1])
            guess = guessed.mend(rate // 50, None)
            for name, pcm in (("mended", copies), ("guessed", guess)):
                assert len(pcm) == rate // 50 * 2
                errors[name] += float(np.square(np.frombuffer(pcm, "<i2") - right).sum())
        else:
            mended.decode(packet)
            guessed.decode(packet)
    assert errors["mended"] < 0.6 * errors["guessed"]


def test_a_gap_without_end_becomes_silence() -> None:
    rate = 24000
    encoder, decoder = OpusEncoder(rate), OpusDecoder(rate)
    for frame in frames(speech(rate), rate)[50:80]:
        decoder.decode(encoder.encode(frame))
    tail = b"".join(decoder.mend(rate // 50, None) for _ in range(50))
    assert level(tail[-rate // 5 :]) < -60


def test_silence_settles_to_one_packet() -> None:
    """Sending the same packet for more silence is as good as encoding each."""
    rate = 24000
    encoder, decoder = OpusEncoder(rate), OpusDecoder(rate)
    for frame in frames(speech(rate), rate)[50:80]:
        decoder.decode(encoder.encode(frame))
    for _ in range(10):
        packet = encoder.encode(bytes(rate // 25))
        decoder.decode(packet)
    heard = b"".join(decoder.decode(packet) for _ in range(100))
    assert level(heard) < -75


@pytest.mark.parametrize("payload", [b"", b"\xff" * 3, bytes(1277)])
def test_what_is_no_packet_is_refused(payload: bytes) -> None:
    with pytest.raises(ValueError, match="Opus packet"):
        OpusDecoder(24000).decode(payload)


def test_a_rate_that_opus_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="44100"):
        OpusEncoder(44100)
    with pytest.raises(ValueError, match="no Opus frame"):
        OpusEncoder(24000).encode(bytes(100))


def test_garbage_has_no_length() -> None:
    assert units(b"") == 0
    assert units(b"\xff\xff\xff") == 0
