"""What a Realtime session is told to be."""

from __future__ import annotations

from gateway.backends.realtime import wire
from gateway.backends.realtime.settings import RealtimeSettings
from gateway.ports import BackendStart


def configuration(start: BackendStart, settings: RealtimeSettings) -> str:
    """Write what the session is to be."""
    audio_format = wire.audio_format(start.info.codec if settings.passes else "l16")
    audio_in: dict[str, object] = {
        "format": audio_format,
        "turn_detection": settings.detection(),
    }
    if settings.transcription_model:
        audio_in["transcription"] = {"model": settings.transcription_model}
    session: dict[str, object] = {
        "type": "realtime",
        "instructions": start.instructions,
        "output_modalities": ["audio"],
        "audio": {
            "input": audio_in,
            "output": {"format": audio_format, "voice": settings.voice},
        },
        "tools": wire.tools(start.tools),
        "tool_choice": "auto",
    }
    return wire.write("session.update", session=session)
