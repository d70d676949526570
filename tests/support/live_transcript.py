"""Writes a GPT-Live session down as aimock replays it: what each side sends, in order.

aimock compares what a client sends with it, byte for byte, and sends what follows when it came.
"""

from __future__ import annotations

import base64
from typing import Any

IDENTIFIERS = (
    "/event_id",
    "/session/id",
    "/delegation/id",
    "/delegation_id",
    "/item/call_id",
    "/event/item/id",
    "/event/item/call_id",
)
"""Where the server's own identifiers stand: aimock replaces each by one that it makes."""


class LiveTranscript:
    """One session, from the configuration that it begins with to `session.closed`."""

    def __init__(self, session: dict[str, Any]) -> None:
        self._session = session
        self._entries: list[dict[str, Any]] = []
        self._bindings: list[dict[str, Any]] = []
        self._names: set[str] = set()
        self._commands = 0
        "that the client has sent"
        self._sound = 0
        "bytes that it has sent since the last of them"
        self.client("session.start", session=session)
        self.server("session.started", session=self._resource())

    def client(self, kind: str, **fields: Any) -> None:
        """Expect a command next."""
        self._commands, self._sound = self._commands + 1, 0
        self._add("client", {"type": kind, **fields})

    def hears(self, sound: bytes) -> None:
        """Expect the caller's sound next, in pieces of any length."""
        self._sound += len(sound)
        audio = base64.b64encode(sound).decode()
        self._add("client", {"type": "session.input_audio.append", "audio": audio})

    def server(self, kind: str, **fields: Any) -> None:
        """Send an event, once everything before it has come."""
        event = {"type": kind, **fields}
        if kind != "session.output_audio.delta":  # the only one without
            event["event_id"] = f"event {len(self._entries)}"
        barrier = {"command": self._commands, "audioBytes": self._sound}
        self._add("server", event, barrier=barrier)

    def says(self, text: str, sound: bytes = b"") -> None:
        """Send words of the model and their sound."""
        if text:
            self.server("session.output_transcript.delta", delta=text, start_ms=0, end_ms=100)
        if sound:
            self.server("session.output_audio.delta", delta=base64.b64encode(sound).decode())

    def understands(self, text: str) -> None:
        """Send words of the caller."""
        self.server("session.input_transcript.delta", delta=text, start_ms=0, end_ms=100)

    def closed(self, reason: str, seconds: float) -> dict[str, Any]:
        """End the session; give it as what a fixture answers a start with."""
        usage = {"seconds": seconds}
        self.server("session.closed", reason=reason, usage=usage, session=self._resource())
        managed = self._session["delegation"]["type"] == "responses"
        live = {
            "version": 1,
            "model": "gpt-live-1",
            "mode": "managed" if managed else "client",
            "audio": {"encoding": "pcm16le", "sampleRateHz": 24000, "channels": 1},
            "configuration": self._session,
            "entries": self._entries,
            "bindings": self._bindings,
            "capture": {
                "source": "authored",
                "complete": True,
                "terminalEntry": len(self._entries) - 1,
            },
        }
        match = {"endpoint": "openai-live", "model": "gpt-live-1"}
        return {"match": match, "response": {"live": live, "liveTiming": "immediate"}}

    def _resource(self) -> dict[str, Any]:
        return {**self._session, "id": "session", "expires_at": 2e9, "status": "active"}

    def _add(self, direction: str, event: dict[str, Any], **more: Any) -> None:
        for pointer in IDENTIFIERS:
            value: Any = event
            for name in pointer[1:].split("/"):
                value = value.get(name) if isinstance(value, dict) else None
            if isinstance(value, str):
                new = value not in self._names
                self._names.add(value)
                self._bindings.append(
                    {
                        "entry": len(self._entries),
                        "pointer": pointer,
                        "name": value,
                        "action": "define" if new else "reference",
                        "owner": "server",
                    }
                )
        self._entries.append({"direction": direction, "atMs": 0, "event": event, **more})
