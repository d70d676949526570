"""What of a journal is hidden when the log is masked: words, keys, numbers; never secrets.

The sound is not hidden: who may hear a recording may hear this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from gateway.events import CallInfo, Entry
from gateway.log_events import Mark
from gateway.observe.privacy import HIDDEN, Mask, Privacy
from gateway.replay import records
from gateway.replay.records import Record

MARKS: Mapping[str, Mark] = {
    "text": "words",
    "heard_text": "words",
    "question": "words",
    "summary": "words",
    "line": "words",
    "words": "tree",
    "arguments": "tree",
    "result": "tree",
    "data": "tree",
    "variables": "tree",
    "evidence": "evidence",
    "key": "keys",
    "keys": "keys",
    "caller": "number",
    "callee": "number",
    "from": "number",
    "to": "number",
    "target": "number",
}
"""What is personal in a record, by the names of events, of commands and of the log."""


class Veil:
    """Hides what may not be written; a journal that hides anything says so in its head."""

    def __init__(self, mask: Mask, secrets: Iterable[str] = ()) -> None:
        self.mask = mask
        self._privacy = Privacy(mask, secrets)

    def info(self, info: CallInfo) -> CallInfo:
        """Hide who calls whom."""
        found = self._clean(
            {"caller": info.caller, "callee": info.callee, "variables": info.variables}
        )
        return replace(info, **found)

    def entries(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Hide what was said."""
        return tuple(
            replace(each, **self._clean({"text": each.text, "data": each.data})) for each in entries
        )

    def record(self, record: Record) -> Record:
        """Hide what is personal in a record; only where that is wanted."""
        if self.mask == "none":
            return self._without_secrets(record)
        match record:
            case records.Line() | records.Said() | records.Did():
                return msgspec.structs.replace(record, fields=self._clean(record.fields))
            case records.Words() | records.Ready() | records.Rendered() if record.text:
                changed: dict[str, Any] = self._clean({"text": record.text})
                if not isinstance(record, records.Words):
                    changed["words"] = ()
                return msgspec.structs.replace(record, **changed)
            case records.Tool():
                return msgspec.structs.replace(record, **self._clean({"result": record.result}))
            case records.Asked():
                return msgspec.structs.replace(record, **self._clean({"line": record.line}))
            case _:
                return record

    def _without_secrets(self, record: Record) -> Record:
        """Take keys and tokens out of what tools bring; all else stays as it was, to the digit."""
        match record:
            case records.Tool(result=result):
                cleaned = self._clean({"result": result})
                hidden = HIDDEN in str(cleaned)
                return msgspec.structs.replace(record, **cleaned) if hidden else record
            case _:
                return record

    def _clean(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return self._privacy.clean(fields, MARKS)
