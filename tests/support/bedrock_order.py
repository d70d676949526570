"""What Nova Sonic asks of the events that it is sent, and refuses otherwise."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

RATES = (8000, 16000, 24000)
MOST_BYTES = 1024
"""Of one text."""


@dataclass
class InputOrder:
    """Follows the events of one stream; `check` says what is wrong with the next one."""

    stage: str = "new"
    "new, session, prompt, open (the microphone), closed, prompt over, over"
    blocks: dict[str, str] = field(default_factory=dict)
    "of the open blocks, their types"
    asked: set[str] = field(default_factory=set)
    "uses of tools that have no result yet"
    rate_in: int = 0
    rate_out: int = 0
    prompt: str = ""
    tools: set[str] = field(default_factory=set)
    _names: set[str] = field(default_factory=set)
    _roles: list[str] = field(default_factory=list)

    def check(self, event: dict[str, Any]) -> str:
        """Take an event; give what is wrong, or nothing."""
        if len(event) != 1:
            return "an event has exactly one name"
        ((name, fields),) = event.items()
        if self.stage == "over":
            return f"{name} after sessionEnd"
        of_prompt = name not in ("sessionStart", "promptStart", "sessionEnd")
        if of_prompt and (not self.prompt or fields.get("promptName") != self.prompt):
            return f"{name} is of no prompt"
        match name:
            case "sessionStart":
                return self._session(fields)
            case "promptStart":
                return self._prompt(fields)
            case "contentStart":
                return self._block(fields)
            case "textInput" | "audioInput" | "toolResult":
                return self._content(name, fields)
            case "contentEnd":
                kind = self.blocks.pop(fields.get("contentName", ""), "")
                self.stage = "closed" if kind == "AUDIO" else self.stage
                return "" if kind else "contentEnd of no open block"
            case "promptEnd":
                return self._over("closed", "prompt over", name)
            case "sessionEnd":
                return self._over("prompt over", "over", name)
            case _:
                return f"there is no event {name}"

    def _session(self, fields: dict[str, Any]) -> str:
        if self.stage != "new":
            return "sessionStart comes first, and once"
        self.stage = "session"
        # The flat form is what Nova 2 refuses with these words.
        known = {"inferenceConfiguration", "turnDetectionConfiguration"}
        return "" if set(fields) <= known else "Invalid input request"

    def _prompt(self, fields: dict[str, Any]) -> str:
        if self.stage != "session":
            return "promptStart comes second"
        self.stage, self.prompt = "prompt", fields["promptName"]
        sound = fields["audioOutputConfiguration"]
        self.rate_out = sound["sampleRateHertz"]
        if self.rate_out not in RATES or sound["mediaType"] != "audio/lpcm":
            return "no such sound"
        for tool in fields.get("toolConfiguration", {}).get("tools", ()):
            spec = tool["toolSpec"]
            if not isinstance(json.loads(spec["inputSchema"]["json"]), dict):
                return "a tool's schema is a JSON object in a string"
            self.tools.add(spec["name"])
        return ""

    def _block(self, fields: dict[str, Any]) -> str:
        name, kind, role = fields["contentName"], fields["type"], fields["role"]
        if name in self._names or self.stage not in ("prompt", "open"):
            return f"block {name} has no place here"
        self._names.add(name)
        self.blocks[name] = kind
        match kind:
            case "AUDIO":
                if self.stage != "prompt" or self._roles[:1] != ["SYSTEM"]:
                    return "the microphone comes after the instructions, and once"
                self.stage, self.rate_in = (
                    "open",
                    fields["audioInputConfiguration"]["sampleRateHertz"],
                )
                return "" if self.rate_in in RATES else "no such sound"
            case "TEXT" if self.stage == "prompt":
                before = self._roles[-1] if self._roles else ""
                self._roles.append(role)
                follows = {"": "SYSTEM", "SYSTEM": "USER", "USER": "ASSISTANT", "ASSISTANT": "USER"}
                return "" if role == follows[before] else f"{role} after {before or 'nothing'}"
            case "TEXT":
                return "" if fields["interactive"] and role == "USER" else "text in the middle"
            case "TOOL":
                use = fields["toolResultInputConfiguration"]["toolUseId"]
                known = use in self.asked
                self.asked.discard(use)
                return "" if known else f"nobody asked for {use}"
            case _:
                return f"there is no type {kind}"

    def _content(self, name: str, fields: dict[str, Any]) -> str:
        kind = {"textInput": "TEXT", "audioInput": "AUDIO", "toolResult": "TOOL"}[name]
        if self.blocks.get(fields["contentName"]) != kind:
            return f"{name} outside a block of its own"
        if kind == "TEXT" and len(fields["content"].encode()) > MOST_BYTES:
            return "too much text at once"
        return ""

    def _over(self, needed: str, now: str, name: str) -> str:
        if self.stage != needed or self.blocks:
            return f"{name} while something is open"
        self.stage = now
        return ""
