"""How a Nova Sonic model is reached and used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class NovaSettings:
    """One of Amazon's speech-to-speech models; credentials come from where Amazon's SDK finds
    them: the environment, a profile, the machine's role."""

    name: str = "nova"
    model: str = "amazon.nova-2-sonic-v1:0"
    region: str = "us-east-1"
    endpoint: str = ""
    "another address than the region's own"
    voice: str = "tiffany"
    sensitivity: Literal["high", "medium", "low"] = "medium"
    "how soon a pause ends the caller's turn: after about 1.5, 1.75 and 2 seconds"
    max_tokens: int = 1024
    temperature: float = 0.7
    top_p: float = 0.9
    connect_seconds: float = 5.0
    hang_seconds: float = 2.4
    "an answer of which no sound has come by then is asked for again, then from the next fallback"
    answer_seconds: float = 10.0
    "how long the service may take to accept a connection that is up"
    session_seconds: float = 360.0
    "handed over to a fresh connection from this age on, in the first quiet moment"
    late_seconds: float = 90.0
    "how long that moment is waited for; a connection lives eight minutes"

    @property
    def first_generation(self) -> bool:
        """It knows neither endpointing sensitivity nor text in the middle of a session."""
        return "nova-sonic-v1" in self.model
