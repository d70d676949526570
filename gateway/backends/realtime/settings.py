"""How a Realtime model is reached and used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gateway.events import Json


@dataclass(frozen=True, slots=True)
class RealtimeSettings:
    """One model behind OpenAI's Realtime API, or a server that speaks it."""

    name: str = "realtime"
    url: str = "wss://api.openai.com/v1/realtime"
    "base address; the model is added as a query where the server wants it there"
    model: str = "gpt-realtime-2.1"
    api_key: str = field(
        default="", repr=False, metadata={"env": "OPENAI_API_KEY", "env_in": "key_variable"}
    )
    key_variable: str = "OPENAI_API_KEY"
    "the environment variable that holds the key, where several servers have one each"
    voice: str = "marin"
    sound: Literal["line", "pcm"] = "line"
    "`line`: a line's G.711 is passed through; `pcm`: the server knows none, and gets samples"
    transcription_model: str = "gpt-transcribe"
    "makes the caller's words for the log; empty: none"
    turns: Literal["ours", "server_vad", "semantic_vad"] = "ours"
    eagerness: Literal["low", "medium", "high", "auto"] = "auto"
    "of `semantic_vad`"
    connect_seconds: float = 5.0
    hang_seconds: float = 2.4
    "an answer of which no sound has come by then is asked for again, then from the next fallback"
    session_seconds: float = 3300.0
    "renewed before this age: sessions end at an hour"

    @property
    def owns_turns(self) -> bool:
        """The model decides when the caller is done."""
        return self.turns != "ours"

    @property
    def passes(self) -> bool:
        """G.711 goes through as it is."""
        return self.sound == "line"

    def detection(self) -> Json | None:
        """Write the API's `turn_detection`."""
        match self.turns:
            case "ours":
                return None
            case "server_vad":
                return {
                    "type": "server_vad",
                    "create_response": True,
                    "interrupt_response": True,
                }
            case "semantic_vad":
                return {
                    "type": "semantic_vad",
                    "eagerness": self.eagerness,
                    "create_response": True,
                    "interrupt_response": True,
                }
