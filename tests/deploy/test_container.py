"""The container's files as far as they can be looked at without building it."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from bench.calls.gateway_process import ROOT
from gateway.config import ServerSettings, load

FOLDER = ROOT / "deploy/container"


def test_its_settings_are_settings() -> None:
    settings = load(FOLDER / "parley.toml", {})
    assert settings.log.path == "-"
    assert settings.agents.data == Path("/data")


def test_calls_have_longer_to_finish_than_the_gateway_gives_them() -> None:
    gateway = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]["gateway"]
    found = re.fullmatch(r"(\d+)m", gateway["stop_grace_period"])
    assert found is not None
    assert int(found[1]) * 60 >= ServerSettings().drain + 60
    assert gateway["read_only"]
    assert gateway["cap_drop"] == ["ALL"]


def test_what_compose_mounts_is_there() -> None:
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    for service in services.values():
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            if source.startswith("."):
                assert (FOLDER / source).exists(), source


def test_the_build_is_given_what_it_copies_and_nothing_else() -> None:
    ignored = (ROOT / ".containerignore").read_text().splitlines()
    given = {line[1:] for line in ignored if line.startswith("!")}
    lines = (FOLDER / "Containerfile").read_text().splitlines()
    copied = {
        source
        for line in lines
        if line.startswith("COPY ") and "--from" not in line
        for source in line.split()[1:-1]
    }
    assert ignored[0] == "*"
    assert copied == given
    assert all((ROOT / each).exists() for each in copied)


def test_it_ends_as_nobody() -> None:
    lines = (FOLDER / "Containerfile").read_text().splitlines()
    assert [line for line in lines if line.startswith("USER ")] == ["USER 65534:65534"]
