"""How a GPT-Live model is reached and used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """One model behind OpenAI's Live API."""

    name: str = "live"
    url: str = "wss://api.openai.com/v1/live/sessions"
    model: str = "gpt-live-1.1"
    api_key: str = field(
        default="", repr=False, metadata={"env": "OPENAI_API_KEY", "env_in": "key_variable"}
    )
    key_variable: str = "OPENAI_API_KEY"
    "the environment variable that holds the key"
    voice: str = "marin"
    delegation: Literal["responses", "client"] = "responses"
    """who does what the voice model delegates: a Responses model with the agent's tools, or
    nobody (`client`), so that the model is told to do without"""
    delegate_model: str = "gpt-5.4-mini"
    "the Responses model that uses the tools"
    delegate_instructions: str = ""
    "what that model is told; empty: the agent's own instructions"
    connect_seconds: float = 5.0
    hang_seconds: float = 2.4
    "an answer of which no sound has come by then is asked for again, then from the next fallback"
    session_seconds: float = 1740.0
    "renewed before this age: how long a session may last is not published, so just under 30 min"
