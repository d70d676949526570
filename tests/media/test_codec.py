"""G.711 against the tables of the standard, and the wire forms as a whole."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from media.codec import WireForm, wire_form

PCMU = wire_form("pcmu", 8000)
PCMA = wire_form("pcma", 8000)
L16 = wire_form("l16", 24000)
ALL_CODES = bytes(range(256))
ALL_SAMPLES = np.arange(-32768, 32768, dtype=np.int32)

# ITU-T G.711, table 2a: end points of the segments, 14-bit scale, and their step.
ULAW_SEGMENTS = [
    (0, 31, 2),
    (31, 95, 4),
    (95, 223, 8),
    (223, 479, 16),
    (479, 991, 32),
    (991, 2015, 64),
    (2015, 4063, 128),
    (4063, 8159, 256),
]
# ITU-T G.711, table 1a: the same for A-law, 13-bit scale.
ALAW_SEGMENTS = [
    (0, 64, 2),
    (64, 128, 4),
    (128, 256, 8),
    (256, 512, 16),
    (512, 1024, 32),
    (1024, 2048, 64),
    (2048, 4096, 128),
]


def ulaw_table() -> tuple[list[int], list[int]]:
    """Return decision values x_n and outputs y_n of table 2a, by the standard's own rule."""
    decisions = [0, 1]  # the first interval is half as wide: y_0 is zero
    for low, high, step in ULAW_SEGMENTS:
        start = low + step if low else 3
        decisions += list(range(start, high + 1, step))
    # y_n is the middle of x_n and x_(n+1), and y_0 is 0
    outputs = [0] + [(a + b) // 2 for a, b in pairwise(decisions[1:])]
    return decisions[:-1], outputs


def alaw_table() -> tuple[list[int], list[int]]:
    """Return decision values x_n and outputs y_n of table 1a."""
    decisions = [0]
    for low, high, step in ALAW_SEGMENTS:
        decisions += list(range(low + step, high + 1, step))
    outputs = [(a + b) // 2 for a, b in pairwise(decisions)]
    return decisions[:-1], outputs


def samples(pcm: bytes) -> list[int]:
    return np.frombuffer(pcm, dtype="<i2").tolist()


@pytest.mark.parametrize(
    ("form", "table", "scale", "inversion"),
    [(PCMU, ulaw_table, 4, 0x7F), (PCMA, alaw_table, 8, 0x55)],
)
class TestAgainstTheStandard:
    def test_each_code_decodes_to_its_table_value(
        self, form: WireForm, table, scale: int, inversion: int
    ) -> None:
        _, outputs = table()
        assert len(outputs) == 128
        decoded = samples(form.decode(ALL_CODES))
        for number, output in enumerate(outputs):
            # "character signal before inversion": the sign bit is 1 for positive values
            assert decoded[(0x80 | number) ^ inversion] == output * scale
            assert decoded[number ^ inversion] == -output * scale

    def test_each_sample_encodes_by_the_decision_values(
        self, form: WireForm, table, scale: int, inversion: int
    ) -> None:
        decisions, _ = table()
        encoded = form.encode(ALL_SAMPLES.astype("<i2").tobytes())
        for value, code in zip(ALL_SAMPLES.tolist(), encoded, strict=True):
            number = (code ^ inversion) & 0x7F
            upper = decisions[number + 1] * scale if number < 127 else 40000
            if value >= 0:
                assert (code ^ inversion) & 0x80
                assert decisions[number] * scale <= value < upper
            else:
                assert not (code ^ inversion) & 0x80
                assert decisions[number] * scale < -value <= upper

    def test_the_nearest_level_is_chosen_inside_the_range(
        self, form: WireForm, table, scale: int, inversion: int
    ) -> None:
        decoded = np.array(samples(form.decode(form.encode(ALL_SAMPLES.astype("<i2").tobytes()))))
        error = np.abs(decoded - ALL_SAMPLES)
        # G.711: a step is at most 1/16 of the magnitude above the linear part
        assert np.all(error <= np.maximum(scale, np.abs(ALL_SAMPLES) / 31 + scale))

    def test_decoding_after_encoding_never_goes_backwards(
        self, form: WireForm, table, scale: int, inversion: int
    ) -> None:
        decoded = np.array(samples(form.decode(form.encode(ALL_SAMPLES.astype("<i2").tobytes()))))
        assert np.all(np.diff(decoded) >= 0)
        assert len(np.unique(decoded)) == len(set(samples(form.decode(ALL_CODES))))


def test_every_code_survives_a_round_trip_but_for_mu_laws_negative_zero() -> None:
    assert PCMA.encode(PCMA.decode(ALL_CODES)) == ALL_CODES
    expected = bytearray(ALL_CODES)
    expected[0x7F] = 0xFF  # both are zero; the positive one is sent
    assert PCMU.encode(PCMU.decode(ALL_CODES)) == bytes(expected)


def test_known_values_from_the_tables() -> None:
    assert samples(PCMU.decode(b"\x80\x00\xff\x7f")) == [32124, -32124, 0, 0]
    assert samples(PCMA.decode(b"\xaa\x2a\xd5\x55")) == [32256, -32256, 8, -8]


@pytest.mark.parametrize("form", [PCMU, PCMA, L16])
def test_silence_has_its_length_and_decodes_to_next_to_nothing(form: WireForm) -> None:
    quiet = form.silence(160)
    assert len(quiet) == 160 * form.bytes_per_sample
    assert max(abs(value) for value in samples(form.decode(quiet))) <= 8


@pytest.mark.parametrize("form", [PCMU, PCMA, L16])
@given(gain=st.floats(-40, 0), values=st.lists(st.integers(-32768, 32767), max_size=64))
def test_attenuation_agrees_with_arithmetic(form: WireForm, gain: float, values: list[int]) -> None:
    payload = form.encode(np.array(values, dtype="<i2").tobytes())
    before = np.array(samples(form.decode(payload)), dtype=float)
    after = np.array(samples(form.decode(form.attenuate(payload, gain))), dtype=float)
    wanted = before * 10 ** (gain / 20)
    assert np.all(np.abs(after - wanted) <= np.maximum(9, np.abs(wanted) / 30 + 5))


def test_no_gain_changes_nothing_and_too_much_gain_saturates() -> None:
    assert PCMU.attenuate(ALL_CODES, 0.0) is ALL_CODES
    loud = np.array([20000, -20000], dtype="<i2").tobytes()
    assert samples(L16.attenuate(loud, 12.0)) == [32767, -32768]
    assert samples(PCMU.decode(PCMU.attenuate(PCMU.encode(loud), 12.0))) == [32124, -32124]


@given(st.binary(max_size=400))
def test_plain_samples_pass_through(pcm: bytes) -> None:
    assert L16.decode(L16.encode(pcm)) == pcm


@pytest.mark.parametrize(
    ("name", "rate", "message"),
    [
        ("pcmu", 16000, "8000"),
        ("pcma", 44100, "8000"),
        ("l16", 11025, "16000"),
        ("opus", 48000, "pcmu, pcma, l16"),
    ],
)
def test_a_form_that_does_not_exist_is_refused_with_what_is_allowed(
    name: str, rate: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        wire_form(name, rate)
