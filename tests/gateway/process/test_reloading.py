"""Settings that were read again: what differs, what is taken, what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gateway.config import Settings, load
from gateway.process.reloading import HIDDEN, adopted, differences


def settings(tmp_path: Path, text: str, **environment: str) -> Settings:
    file = tmp_path / "parley.toml"
    file.write_text(text)
    return load(file, environment)


def test_what_may_change_does_and_the_rest_is_refused(tmp_path: Path) -> None:
    before = settings(tmp_path, "[limits]\ncalls = 10\n")
    after = settings(
        tmp_path, '[limits]\ncalls = 20\n[server]\nport = 9\n[sip.routes]\n"+49*" = "a"\n'
    )
    found = differences(before, after)
    assert [(one.setting, one.before, one.after, one.refused) for one in found] == [
        ("limits.calls", 10, 20, False),
        ("server.port", 8080, 9, True),
        ("sip.routes.+49*", None, "a", True),
    ]
    taken = adopted(before, after)
    assert (taken.limits.calls, taken.server.port) == (20, 8080)
    # What was refused is refused again the next time, and what was taken is no news.
    assert [one.setting for one in differences(taken, after)] == ["server.port", "sip.routes.+49*"]


def test_secrets_are_not_told(tmp_path: Path) -> None:
    before = settings(tmp_path, "", TWILIO_AUTH_TOKEN="the old one")
    after = settings(tmp_path, "", TWILIO_AUTH_TOKEN="the new one")
    (found,) = differences(before, after)
    assert found.told() == {"setting": "twilio.auth_token", "before": HIDDEN, "after": HIDDEN}
    assert found.refused


def test_everything_that_may_change_is_taken(tmp_path: Path) -> None:
    before = settings(tmp_path, "")
    after = replace(
        before,
        limits=replace(before.limits, calls=7, retry_after=3.0),
        server=replace(before.server, drain=5.0),
        log=replace(before.log, level="debug"),
    )
    assert not any(one.refused for one in differences(before, after))
    assert adopted(before, after) == after
