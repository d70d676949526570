"""One session a model, checked providers, and errors that say what to do."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from inference import ProviderMissing, Refused, RuntimeMissing
from inference.runtime import Runtime, RuntimeSettings
from tests.inference.tiny import doubling

X = {"x": np.array([1, 2], np.float32)}


def test_a_model_is_loaded_once_and_what_it_runs_on_is_on_record() -> None:
    runtime = Runtime()
    session = runtime.load(doubling(), name="tiny")
    assert runtime.load(doubling(), name="tiny") is session
    assert session.inputs == ("x",)
    assert [(each.model, each.wanted, each.got) for each in runtime.loaded] == [
        ("tiny", ("cpu",), ("cpu",))
    ]
    assert not runtime.loaded[0].fell_back


def test_a_model_runs_here_or_in_a_worker() -> None:
    runtime = Runtime()
    session = runtime.load(doubling(), name="tiny")
    assert session.run(X)[0].tolist() == [-2, -4]
    assert asyncio.run(session.infer(X, ["doubled"]))[0].tolist() == [-2, -4]
    assert asyncio.run(runtime.run(lambda: session.run(X)))[0].tolist() == [-2, -4]
    runtime.close()


def test_a_question_that_is_late_is_not_run() -> None:
    runtime = Runtime()
    session = runtime.load(doubling(), name="tiny")
    with pytest.raises(Refused):
        asyncio.run(session.infer(X, due=time.monotonic() - 1))
    runtime.close()


def test_a_model_may_be_a_file_or_one_of_the_manifest(tmp_path: Path) -> None:
    (tmp_path / "tiny.onnx").write_bytes(doubling())
    runtime = Runtime()
    assert runtime.load(tmp_path / "tiny.onnx").run(X)[0].tolist() == [-2, -4]
    assert runtime.load("silero-vad/silero_vad_op18_ifless.onnx").inputs == ("input", "sr", "state")
    with pytest.raises(ValueError, match="no model is called 'nobody'"):
        runtime.load("nobody")
    with pytest.raises(ValueError, match="needs a name"):
        runtime.load(doubling())


def test_what_is_not_here_is_an_error_unless_falling_back_is_allowed() -> None:
    with pytest.raises(ProviderMissing, match="wanted tensorrt, cpu, found"):
        Runtime(RuntimeSettings(("tensorrt", "cpu"))).load(doubling(), name="tiny")
    runtime = Runtime(RuntimeSettings(("tensorrt", "cpu"), allow_fallback=True))
    runtime.load(doubling(), name="tiny")
    assert "FELL BACK" in str(runtime.loaded[0])


def test_a_model_may_have_its_own_providers() -> None:
    runtime = Runtime(RuntimeSettings(("cuda",)))
    runtime.load(doubling(), name="tiny", providers=("cpu",))
    assert runtime.loaded[0].wanted == ("cpu",)


def test_without_onnxruntime_the_message_names_both_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(RuntimeMissing, match=r"parley\[cpu\].*parley\[gpu\]"):
        Runtime().load(doubling(), name="tiny")


def test_unknown_providers_are_refused_before_anything_is_loaded() -> None:
    with pytest.raises(ValueError, match="found rocm"):
        Runtime(RuntimeSettings(("rocm",)))
