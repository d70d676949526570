"""What may change in the settings while calls go on, and what of a changed file may not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import structlog

from gateway.config import Settings

CHANGEABLE = ("limits.calls", "limits.retry_after", "server.drain", "log.level")
"""What is looked at anew each time it is needed; everything else is built in when a process
starts: ports, models, keys, where files lie."""

HIDDEN = "(hidden)"

log = structlog.get_logger("gateway")


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting that is another by now."""

    setting: str
    before: object
    after: object

    @property
    def refused(self) -> bool:
        """Whether it needs a restart."""
        return self.setting not in CHANGEABLE

    def told(self) -> dict[str, object]:
        """Return it as fields of a message."""
        return {"setting": self.setting, "before": str(self.before), "after": str(self.after)}


def differences(before: Settings, after: Settings) -> list[Difference]:
    """Find every setting that differs; of secrets it is said only that they do."""
    old, new = dict(_flat(before)), dict(_flat(after))
    found: list[Difference] = []
    for name in sorted(old.keys() | new.keys()):
        (was, secret), (is_now, secret_now) = (
            old.get(name, (None, False)),
            new.get(name, (None, False)),
        )
        if was != is_now:
            hidden = secret or secret_now
            found.append(Difference(name, HIDDEN if hidden else was, HIDDEN if hidden else is_now))
    return found


def adopted(before: Settings, after: Settings) -> Settings:
    """Return the settings with what may change as it is now."""
    return replace(
        before,
        limits=replace(
            before.limits, calls=after.limits.calls, retry_after=after.limits.retry_after
        ),
        server=replace(before.server, drain=after.server.drain),
        log=replace(before.log, level=after.log.level),
    )


def tell(found: list[Difference]) -> None:
    """Say what has changed, and what has not and why."""
    for one in found:
        if one.refused:
            log.warning("setting_refused", **one.told(), reason="it is read when a process starts")
        else:
            log.info("setting_changed", **one.told())
    if not found:
        log.info("settings_unchanged")


def _flat(value: object, path: str = "", secret: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield every setting by its path, with whether it is a secret."""
    inner: Iterator[tuple[str, object, bool]]
    if is_dataclass(value) and not isinstance(value, type):
        inner = (
            (each.name, getattr(value, each.name), bool({"env", "secret"} & each.metadata.keys()))
            for each in fields(value)
        )
    elif isinstance(value, Mapping):
        inner = ((str(name), each, False) for name, each in value.items())
    else:
        yield path, (value, secret)
        return
    for name, each, hidden in inner:
        # The lines are sections of the file, beside the others.
        own = path if name == "lines" and not path else f"{path}.{name}".lstrip(".")
        yield from _flat(each, own, secret or hidden)
