"""How a Gemini Live model is reached and used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class GeminiSettings:
    """One model behind Google's Live API."""

    name: str = "gemini"
    url: str = (
        "wss://generativelanguage.googleapis.com/ws/"
        "google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
    )
    model: str = "models/gemini-3.8-live"
    api_key: str = field(default="", repr=False, metadata={"env": "GEMINI_API_KEY"})
    bearer: str = field(default="", repr=False, metadata={"env": "GEMINI_ACCESS_TOKEN"})
    "an OAuth token, for the cloud platform's address in place of the key"
    voice: str = "Puck"
    turns: Literal["ours", "model"] = "ours"
    connect_seconds: float = 5.0
    hang_seconds: float = 2.4
    "an answer of which no sound has come by then is asked for again, then from the next fallback"
    session_seconds: float = 480.0
    "renewed before this age: a connection lives about ten minutes"

    @property
    def owns_turns(self) -> bool:
        """The model decides when the caller is done."""
        return self.turns == "model"
