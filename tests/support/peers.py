"""Real programs that tests run, and what to install where one is missing."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

LIST = Path(__file__).parents[2] / "deploy/apt-packages.txt"

Test = TypeVar("Test", bound=Callable[..., Any])


def packages() -> Iterator[tuple[str, str, str, str]]:
    """Return package, make target, programs and reason of each line of the list."""
    for line in LIST.read_text("utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            package, target, programs, why = line.split(maxsplit=3)
            yield package, target, programs, why


def package_of(program: str) -> str:
    """Say which Debian package brings a program; raise LookupError where none is listed."""
    for package, _, programs, _ in packages():
        if program in programs.split(","):
            return package
    raise LookupError(f"{program} is not listed in {LIST.name}")


def requires_program(*names: str) -> Callable[[Test], Test]:
    """Mark a test as one with peers; it is skipped by name where a program is missing."""
    missing = [name for name in names if shutil.which(name) is None]
    said = ", ".join(f"{name} (apt-get install {package_of(name)})" for name in missing)
    skip = pytest.mark.skipif(bool(missing), reason=f"not installed: {said}")

    def decorate(test: Test) -> Test:
        return pytest.mark.peer(skip(test))

    return decorate


async def is_up(port: int) -> bool:
    """Say whether somebody listens on a local TCP port."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True
