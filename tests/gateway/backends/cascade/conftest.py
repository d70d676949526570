"""The models, loaded once for all tests of the cascade's parts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gateway.backends.cascade.recognisers.moonshine import Moonshine
from inference.runtime import Runtime


@pytest.fixture(scope="session")
def runtime() -> Iterator[Runtime]:
    runtime = Runtime()
    yield runtime
    runtime.close()


@pytest.fixture(scope="session")
def moonshine(runtime: Runtime) -> Moonshine:
    recogniser = Moonshine(runtime)
    recogniser.load()
    return recogniser
