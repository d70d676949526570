"""The tools that every agent may have without anyone writing them.

The first four act on the call itself, so the conversation performs them: it turns `transfer` into
the effect `Transfer`, `hang_up` into `HangUp`, `send_keys` into `SendKeys` and `switch_profile`
into `ChooseProfile`. Transfer and hang-up wait until everything said before was heard.
The other two are ordinary writes, run by the toolbox into its message store.
"""

from __future__ import annotations

from gateway.events import Json
from gateway.ports import ToolSpec

CALL_TOOLS = frozenset({"transfer", "hang_up", "send_keys", "switch_profile"})
"""Built-ins that the conversation performs itself."""


def _schema(required: tuple[str, ...], **properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _text(description: str) -> Json:
    return {"type": "string", "description": description}


BUILTINS: dict[str, ToolSpec] = {
    "transfer": ToolSpec(
        "transfer",
        "Put the caller through to someone. Say so first; it happens once that was heard.",
        _schema(
            ("target",),
            target=_text("Whom to put the caller through to."),
            summary=_text("What the call is about, for whoever takes it."),
        ),
        effect="write",
    ),
    "hang_up": ToolSpec(
        "hang_up",
        "End the call. Say goodbye first; it happens once that was heard.",
        _schema((), reason=_text("Why the call ends, for the log.")),
        effect="write",
    ),
    "send_keys": ToolSpec(
        "send_keys",
        "Press telephone keys, for menus of other systems.",
        _schema(
            ("keys",),
            keys={
                "type": "string",
                "pattern": "^[0-9A-D*#]{1,32}$",
                "description": "The keys to press, in order.",
            },
        ),
        effect="write",
    ),
    "switch_profile": ToolSpec(
        "switch_profile",
        "Change how patiently the caller is listened to, for what is asked next.",
        _schema(
            ("name",),
            name={"type": "string", "enum": ["quick", "default", "patient", "digits"]},
        ),
        # Harmless, but it acts on the call, so that a draft must not do it.
        effect="write",
    ),
    "take_message": ToolSpec(
        "take_message",
        "Write a message down for the staff.",
        _schema(
            ("text",),
            text=_text("The message, in the caller's words."),
            name=_text("Who left it."),
            number=_text("Where they can be called back."),
        ),
        effect="write",
    ),
    "schedule_callback": ToolSpec(
        "schedule_callback",
        "Have the caller called back later.",
        _schema(
            ("number",),
            number=_text("The number to call."),
            when=_text("When, in the caller's words."),
            about=_text("What it is about."),
        ),
        effect="write",
    ),
}
"""Specifications by name; an agent's file may give them other time-outs and fillers."""
