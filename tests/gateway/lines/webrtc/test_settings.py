"""Settings that cannot be are refused with the name of the setting."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.lines.webrtc.settings import WebrtcSettings


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"origins": ("example.com",)}, "origins"),
        ({"origins": ("https://example.com/page",)}, "origins"),
        ({"addresses": ("voice.example.com",)}, "voice.example.com"),
        ({"addresses": ("203.0.113.1/here",)}, "here"),
        ({"ports": (5000, 4000)}, "ports"),
        ({"ports": (0, 4000)}, "ports"),
        ({"ice": ("https://turn.example",)}, "ice"),
        ({"codecs": ()}, "codecs"),
    ],
)
def test_settings_that_cannot_be(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        WebrtcSettings(**values)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"token_key": "short"}, "PARLEY_TOKEN_KEY"),
        ({"api_key": "short"}, "PARLEY_API_KEY"),
        ({"ice": ("turn:t.example",)}, "PARLEY_TURN_SECRET"),
    ],
)
def test_secrets_that_do_not_fit(values: dict[str, Any], said: str) -> None:
    assert said in (WebrtcSettings(**values).problem() or "")


def test_what_fits_has_no_problem() -> None:
    settings = WebrtcSettings(
        origins=("https://a.example", "http://localhost:5173", "*"),
        addresses=("203.0.113.1/10.0.0.5", "2001:db8::1"),
        ports=(40000, 40100),
        token_key="k" * 32,
        api_key="k" * 16,
        ice=("turn:t.example",),
        turn_secret="s",
    )
    assert settings.problem() is None
    assert settings.hosts() == (("203.0.113.1", "10.0.0.5"), ("2001:db8::1", "2001:db8::1"))


def test_secrets_are_not_shown() -> None:
    shown = repr(WebrtcSettings(token_key="T" * 32, api_key="A" * 32, turn_secret="S" * 32))
    assert "TTT" not in shown
    assert "AAA" not in shown
    assert "SSS" not in shown
