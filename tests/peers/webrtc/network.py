"""Networks of their own, in which a gateway, a browser and others meet, and which can be cut."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ADDRESS = "10.77.0.1"
"""Of everybody there."""


@contextmanager
def network() -> Iterator[list[str]]:
    """Make a network in which everything goes over one loopback; give what enters it."""
    name = f"parley{os.getpid()}"
    enter = ["ip", "netns", "exec", name]
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no network namespace can be made here: {made.stderr.strip()}")
    try:
        for command in (
            "link set lo up",
            "link add here type veth peer name there",
            f"addr add {ADDRESS}/24 dev here",
            "link set here up",
            "link set there up",
        ):
            subprocess.run([*enter, "ip", *command.split()], check=True)
        yield enter
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False)


def browser_in(enter: list[str], folder: Path) -> str:
    """Write a program that is Chromium within a network."""
    program = folder / "browser"
    program.write_text(f'#!/bin/sh\nexec {" ".join(enter)} chromium "$@"\n')
    program.chmod(0o755)
    return str(program)
