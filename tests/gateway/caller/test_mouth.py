"""What a caller says leaves in whole frames, in order."""

from __future__ import annotations

from gateway.caller.mouth import Mouth
from gateway.caller.network import NetworkSettings
from gateway.caller.playclock import Piece
from media.codec import wire_form
from tests.gateway.caller.agent import tone

FORM = wire_form("pcmu", 8000)
QUIET = b"\xff" * 160


def test_speech_then_silence_in_whole_frames() -> None:
    mouth = Mouth(FORM, NetworkSettings())
    pcm = tone(0.03)
    mouth.speak(pcm)
    for n in range(3):
        mouth.pass_time(160 * n, 0.02 * (n + 1))
    spoken = FORM.encode(pcm)
    assert mouth.due(0.06) == [
        Piece(0, spoken[:160]),
        Piece(160, spoken[160:] + QUIET[:80]),
        Piece(320, QUIET),
    ]
    assert [piece.start for piece in mouth.said] == [0, 160]


def test_silence_is_spared_where_it_is_dropped() -> None:
    mouth = Mouth(FORM, NetworkSettings(drop_silent=True))
    mouth.pass_time(0, 0.02)
    mouth.speak(tone(0.02))
    mouth.pass_time(160, 0.04)
    assert [piece.start for piece in mouth.due(1.0)] == [160]


def test_delayed_frames_wait_for_their_time() -> None:
    mouth = Mouth(FORM, NetworkSettings(jitter=1.0))
    for n in range(5):
        mouth.pass_time(160 * n, 0.02 * (n + 1))
    left: list[int] = []
    while (deadline := mouth.deadline) is not None:
        before = mouth.due(deadline - 1e-9)
        assert before == []
        left += [piece.start for piece in mouth.due(deadline)]
    assert left == [0, 160, 320, 480, 640]
