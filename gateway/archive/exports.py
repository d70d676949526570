"""A call for other programs: labels for Audacity, and a vCon."""

from __future__ import annotations

import base64
import uuid
from datetime import datetime, timedelta
from typing import Any

from gateway.archive.story import Story, Turn, Utterance

VCON = "0.4.0"
"""Version of the draft: draft-ietf-vcon-vcon-core, section 4.1."""

NAMES = uuid.UUID("7b6a8a34-6f05-5a3b-9f0e-0f2f0c6f5f53")
"""A call keeps its UUID, which is made of this and the call's id (RFC 9562, section 5.5)."""


def labels(story: Story) -> str:
    """Return a label track: from, to and text, a line each, by time."""
    rows = [(turn.start, turn.end, f"caller: {turn.text or '…'}") for turn in story.turns]
    for said in story.utterances:
        rows.append((said.start, said.end, f"agent: {_heard(said)}"))
        if said.stop_delay is not None:
            rows.append((said.end, said.end, "cut-in"))
    rows += [(tool.start, tool.end or tool.start, f"tool: {tool.name}") for tool in story.tools]
    rows += [(hold.start, hold.end or story.seconds, hold.why) for hold in story.holds]
    rows += [(note.at, note.at, f"{note.kind}: {note.text}") for note in story.notes]
    return "".join(
        f"{start:.6f}\t{end:.6f}\t{' '.join(text.split())}\n" for start, end, text in sorted(rows)
    )


def vcon(story: Story, sound: bytes = b"") -> dict[str, Any]:
    """Return a call as a vCon: who spoke, what was said and heard, and its recording."""
    started = story.started
    if started is None:
        raise ValueError("the log does not tell how this call began")
    began = datetime.fromisoformat(story.began)
    number = started.caller.startswith("+")
    caller = {"tel" if number else "name": started.caller or "caller"}
    parties = [{**caller, "role": "customer"}, {"name": started.agent, "role": "agent"}]
    dialog: list[dict[str, Any]] = []
    if sound:
        dialog.append(
            {
                "type": "recording",
                "start": story.began,
                "duration": round(story.seconds, 3),
                "parties": [0, 1],  # by channel
                "mediatype": "audio/x-wav",
                "filename": started.recording,
                "body": base64.urlsafe_b64encode(sound).decode().rstrip("="),
                "encoding": "base64url",
            }
        )
    spoken: list[Turn | Utterance] = [*(t for t in story.turns if t.text), *story.utterances]
    for each in sorted(spoken, key=lambda one: one.start):
        text = each.text if isinstance(each, Turn) else _heard(each)
        if not text:
            continue
        dialog.append(
            {
                "type": "text",
                "start": (began + timedelta(seconds=each.start)).isoformat(),
                "duration": round(max(0.0, each.end - each.start), 3),
                "parties": [0 if isinstance(each, Turn) else 1],
                "mediatype": "text/plain",
                "body": text,
                "encoding": "none",
            }
        )
    return {
        "vcon": VCON,
        "uuid": str(uuid.uuid5(NAMES, story.call)),
        "created_at": story.began,
        "subject": f"{started.line} call with {started.agent}",
        "parties": parties,
        "dialog": dialog,
        "analysis": [],
        "attachments": [],
    }


def _heard(said: Utterance) -> str:
    return said.text if said.heard_text is None else said.heard_text
