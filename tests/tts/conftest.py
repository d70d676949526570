"""The models, loaded once for all tests of the voice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from inference.runtime import Runtime
from tts.hibari import Hibari


@pytest.fixture(scope="session")
def runtime() -> Iterator[Runtime]:
    runtime = Runtime()
    yield runtime
    runtime.close()


@pytest.fixture(scope="session")
def hibari(runtime: Runtime) -> Hibari:
    engine = Hibari(runtime)
    engine.load()
    return engine
