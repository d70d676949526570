"""The owner's token: who may read it, who is shown it, and what is no token."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gateway.doors.owner import VARIABLE, file_place, known_owner, proof, settled_owner

TOKEN = "t" * 30


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a user's home in which no gateway ever ran."""
    monkeypatch.delenv(VARIABLE)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    umask = os.umask(0)  # the most that others could be let in by
    yield tmp_path
    os.umask(umask)


def test_it_is_drawn_once_and_only_its_user_reads_it(home: Path) -> None:
    assert known_owner() is None
    owner = settled_owner()
    path = home / ".local/state/parley/owner"
    assert owner.place == str(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert len(owner.token) >= 40
    assert settled_owner() == known_owner() == owner
    assert list(path.parent.iterdir()) == [path]


def test_gateways_that_start_together_have_one(home: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        owners = set(threads.map(lambda _: settled_owner(), range(32)))
    assert len(owners) == 1


def test_another_state_folder_is_used(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert file_place() == tmp_path / "state/parley/owner"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")  # to be ignored, says the specification
    assert file_place() == home / ".local/state/parley/owner"


def test_without_a_place_to_keep_it_there_is_one_for_this_process(home: Path) -> None:
    (home / ".local").write_text("a file")
    owner = settled_owner()
    assert owner.token
    assert owner.place == ""
    assert ".local" in owner.problem
    assert known_owner() is None


def test_the_environment_comes_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, TOKEN)
    owner = settled_owner()
    assert (owner.token, owner.place) == (TOKEN, VARIABLE)
    assert not (home / ".local").exists()


@pytest.mark.parametrize("token", ["short", "", "ü" * 30, "t" * 1000, "t" * 30 + "\nmore"])
def test_what_is_no_token_is_said_with_its_place(home: Path, token: str) -> None:
    settled_owner()
    path = file_place()
    path.write_text(token)
    with pytest.raises(ValueError, match=str(path)):
        settled_owner()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://127.0.0.1:8080/sip/calls", True),
        ("ws://localhost:8080/twilio/stream", True),
        ("http://[::1]:8080/", True),
        ("https://voice.example.com/", False),
        ("http://localhost.example/", False),
        ("http://127.0.0.1@evil.example/", False),
        ("http://192.0.2.1/", False),
    ],
)
def test_no_other_machine_is_shown_it(
    monkeypatch: pytest.MonkeyPatch, url: str, shown: bool
) -> None:
    monkeypatch.setenv(VARIABLE, TOKEN)
    assert proof(url) == ({"Authorization": f"Bearer {TOKEN}"} if shown else {})


def test_it_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, TOKEN)
    assert TOKEN not in repr(settled_owner())


def test_the_link_keeps_it_from_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, TOKEN)
    asked, _, kept = settled_owner().link("http://127.0.0.1:8080").partition("#")
    assert TOKEN not in asked
    assert TOKEN in kept
