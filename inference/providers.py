"""Knows how execution providers are named, configured and checked; opens nothing.

What an operator writes is `cpu`, `cuda` or `tensorrt`; what onnxruntime wants are its own names and
options that are strings.
onnxruntime falls back to the processor without an error when a provider cannot be loaded, so what
a session got is compared with what was wanted, every time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from inference.errors import ProviderMissing

PROVIDERS: Final[Mapping[str, str]] = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
}
"""Our names and onnxruntime's."""

Options = dict[str, str]


@dataclass(frozen=True, slots=True)
class Shapes:
    """The range of shapes that one input takes, for engines that are built ahead."""

    smallest: tuple[int, ...]
    usual: tuple[int, ...]
    largest: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What became of one model: a record for the log, the console and `parley check`."""

    model: str
    wanted: tuple[str, ...]
    "providers asked for, by our names"
    got: tuple[str, ...]
    "providers in use, by our names where there is one"
    seconds: float
    "that loading took"

    @property
    def fell_back(self) -> bool:
        """Return whether a wanted provider is not in use."""
        return bool(set(self.wanted) - set(self.got))

    def __str__(self) -> str:
        """Say it in one line, loudly where something is not as wanted."""
        said = f"{self.model}: {', '.join(self.got)} in {self.seconds:.2f} s"
        if self.fell_back:
            said += f" - FELL BACK, wanted {', '.join(self.wanted)}"
        return said


def check_wanted(wanted: Sequence[str]) -> None:
    """Raise ValueError for a name that is no provider of ours."""
    unknown = [name for name in wanted if name not in PROVIDERS]
    if unknown or not wanted:
        raise ValueError(
            f"providers are {', '.join(PROVIDERS)}; found {', '.join(unknown) or 'none'}"
        )


def choose(wanted: Sequence[str], available: Sequence[str], fall_back: bool) -> tuple[str, ...]:
    """Return those of the wanted providers that this onnxruntime was built with, in order.

    Raise ProviderMissing if one is lacking, unless falling back was allowed.
    """
    check_wanted(wanted)
    there = tuple(name for name in wanted if PROVIDERS[name] in available)
    if len(there) < len(wanted) and not fall_back:
        raise ProviderMissing(_complaint("this onnxruntime", wanted, our_names(available)))
    return there or ("cpu",)


def check_libraries(missing: Sequence[str], fall_back: bool) -> None:
    """Raise ProviderMissing where libraries are, unless falling back was allowed."""
    if missing and not fall_back:
        said = "; ".join(missing)
        raise ProviderMissing(
            f"{said}. Install what is named, use one of NVIDIA's images that have it, "
            "or allow falling back (runtime.allow_fallback)"
        )


def check_got(model: str, wanted: Sequence[str], got: Sequence[str], fall_back: bool) -> None:
    """Raise ProviderMissing if a session lacks a wanted provider, unless that was allowed."""
    if not fall_back and set(wanted) - set(got):
        raise ProviderMissing(_complaint(model, wanted, got))


def our_names(theirs: Sequence[str]) -> tuple[str, ...]:
    """Translate onnxruntime's names to ours, leaving those that have none as they are."""
    ours = {name: short for short, name in PROVIDERS.items()}
    return tuple(ours.get(name, name) for name in theirs)


def options_for(
    provider: str, model: str, shapes: Mapping[str, Shapes], cache: Path | None
) -> Options:
    """Return the options of one provider for one model."""
    match provider:
        case "tensorrt":
            return _tensorrt(model, shapes, cache)
        case "cuda":
            return {
                # An exhaustive search costs seconds at every new batch size.
                "cudnn_conv_algo_search": "HEURISTIC",
                # Doubling would take memory that the models of other processes need.
                "arena_extend_strategy": "kSameAsRequested",
            }
        case _:
            return {}


def _tensorrt(model: str, shapes: Mapping[str, Shapes], cache: Path | None) -> Options:
    """Keep built engines, and say which batch sizes one engine must serve.

    Without a profile TensorRT builds again, for minutes, at every size it has not yet seen.
    """
    options = {"trt_fp16_enable": "True"}
    if cache is not None:
        options |= {
            "trt_engine_cache_enable": "True",
            "trt_engine_cache_path": str(cache),
            "trt_engine_cache_prefix": model,
            "trt_timing_cache_enable": "True",
            "trt_timing_cache_path": str(cache),
        }
    if shapes:
        options |= {
            "trt_profile_min_shapes": _profile({k: v.smallest for k, v in shapes.items()}),
            "trt_profile_opt_shapes": _profile({k: v.usual for k, v in shapes.items()}),
            "trt_profile_max_shapes": _profile({k: v.largest for k, v in shapes.items()}),
        }
    return options


def _profile(shapes: Mapping[str, tuple[int, ...]]) -> str:
    """Write shapes as TensorRT's provider reads them: `input:1x80x800,other:1x2`."""
    return ",".join(f"{name}:{'x'.join(map(str, shape))}" for name, shape in shapes.items())


def _complaint(who: str, wanted: Sequence[str], found: Sequence[str]) -> str:
    return (
        f"{who} does not run on the wanted providers: wanted {', '.join(wanted)}, "
        f"found {', '.join(found)}. Allowed are {', '.join(PROVIDERS)}; install parley[gpu] in "
        "place of parley[cpu] for cuda and tensorrt, or allow falling back"
    )
