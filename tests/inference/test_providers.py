"""What runs is what was wanted, or it is said; the options are what the providers read."""

from __future__ import annotations

from pathlib import Path

import pytest

from inference import ProviderMissing
from inference.providers import (
    Loaded,
    Shapes,
    check_got,
    check_wanted,
    choose,
    options_for,
    our_names,
)

CPU = ["CPUExecutionProvider"]
GPU = ["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"]


def test_a_wanted_provider_that_was_not_built_in_is_an_error_that_names_all() -> None:
    with pytest.raises(ProviderMissing) as raised:
        choose(("tensorrt", "cpu"), ["AzureExecutionProvider", *CPU], fall_back=False)
    said = str(raised.value)
    assert "wanted tensorrt, cpu" in said
    assert "found AzureExecutionProvider, cpu" in said
    assert "Allowed are cpu, cuda, tensorrt" in said


def test_falling_back_keeps_what_there_is_and_ends_at_the_processor() -> None:
    assert choose(("tensorrt", "cuda"), GPU, fall_back=False) == ("tensorrt", "cuda")
    assert choose(("tensorrt", "cpu"), CPU, fall_back=True) == ("cpu",)
    assert choose(("tensorrt",), CPU, fall_back=True) == ("cpu",)


def test_a_session_that_fell_back_silently_is_found_out() -> None:
    with pytest.raises(ProviderMissing, match=r"smart-turn does not run.*wanted cuda, found cpu"):
        check_got("smart-turn", ("cuda",), ("cpu",), fall_back=False)
    check_got("smart-turn", ("cuda",), ("cpu",), fall_back=True)
    check_got("smart-turn", ("cuda",), our_names(GPU[1:]), fall_back=False)
    assert str(Loaded("m", ("cuda",), ("cpu",), 0.5)) == "m: cpu in 0.50 s - FELL BACK, wanted cuda"
    assert str(Loaded("m", ("cpu",), ("cpu",), 0.5)) == "m: cpu in 0.50 s"


@pytest.mark.parametrize("wanted", [(), ("cpu", "rocm")])
def test_unknown_providers_are_refused_with_the_known_ones(wanted: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"providers are cpu, cuda, tensorrt; found (none|rocm)"):
        check_wanted(wanted)


def test_tensorrt_keeps_engines_and_is_told_the_batch_sizes() -> None:
    shapes = {
        "features": Shapes((1, 80, 800), (32, 80, 800), (256, 80, 800)),
        "mask": Shapes((1, 2), (32, 2), (256, 2)),
    }
    options = options_for("tensorrt", "smart-turn", shapes, Path("/engines"))
    assert options["trt_profile_min_shapes"] == "features:1x80x800,mask:1x2"
    assert options["trt_profile_opt_shapes"] == "features:32x80x800,mask:32x2"
    assert options["trt_profile_max_shapes"] == "features:256x80x800,mask:256x2"
    assert options["trt_engine_cache_enable"] == "True"
    assert options["trt_engine_cache_path"] == options["trt_timing_cache_path"] == "/engines"
    assert options["trt_engine_cache_prefix"] == "smart-turn"


def test_tensorrt_without_a_folder_keeps_nothing() -> None:
    assert options_for("tensorrt", "smart-turn", {}, None) == {"trt_fp16_enable": "True"}


def test_every_option_is_a_string_and_the_processor_has_none() -> None:
    assert options_for("cpu", "m", {}, None) == {}
    assert set(options_for("cuda", "m", {}, None)) == {
        "cudnn_conv_algo_search",
        "arena_extend_strategy",
    }
