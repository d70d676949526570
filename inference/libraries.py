"""NVIDIA's libraries, loaded before onnxruntime looks for them.

Wheels of CUDA, cuDNN and TensorRT put them into folders where the system's loader does not look,
and onnxruntime says of a provider whose libraries are not found only that it is not there.
What a provider links is asked of the provider's own file, so that no version is written here.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

PROVIDER_FILES: Final = {
    "cuda": "libonnxruntime_providers_cuda.so",
    "tensorrt": "libonnxruntime_providers_tensorrt.so",
}
"""Files of onnxruntime-gpu that link NVIDIA's libraries, by our names of providers."""

COMES_WITH: Final = (
    ("libcuda.so", "NVIDIA's driver"),
    ("libnvinfer", "TensorRT: pip install 'parley[tensorrt]'"),
    ("libnvonnxparser", "TensorRT: pip install 'parley[tensorrt]'"),
    ("libcudnn", "cuDNN: pip install 'parley[gpu]'"),
    ("lib", "CUDA: pip install 'parley[gpu]'"),
)
"""Where a library is from, by the beginning of its name; the first that fits."""

FOLDERS: Final = ("nvidia/*/lib", "tensorrt_libs")
"""Where wheels keep libraries, below the folders that Python imports from."""

ROUNDS: Final = 64
"""More libraries than any provider links, each of which may be what the loader stops at."""

_NOT_FOUND = re.compile(r"(lib[\w.+-]+): cannot open shared object file")

Open = Callable[[str], object]


def load(provider: str, folder: Path) -> str:
    """Load what a provider of onnxruntime links; say what is missing, empty: nothing.

    `folder` holds onnxruntime's own libraries.
    """
    file = folder / PROVIDER_FILES[provider]
    if not file.exists():
        return ""  # built in, or not there at all: onnxruntime says which
    missing = complete(str(file), Path.glob, _open, map(Path, sys.path))
    return f"{provider} needs {missing} ({origin(missing)})" if missing else ""


def complete(
    file: str,
    glob: Callable[[Path, str], Iterable[Path]],
    open_library: Open,
    places: Iterable[Path],
) -> str:
    """Load one library after the other until a file has all that it links; name what is lacking."""
    places = tuple(places)
    tried: set[str] = set()
    for _ in range(ROUNDS):
        lacking = _stops_at(file, open_library)
        if not lacking or lacking in tried:
            return lacking
        tried.add(lacking)
        patterns = [(place, f"{folder}/{lacking}") for place in places for folder in FOLDERS]
        found = next((path for at, pattern in patterns for path in glob(at, pattern)), None)
        if found is None or found == Path(file):
            return lacking
        if deeper := complete(str(found), glob, open_library, places):
            return deeper
    return ""


def origin(library: str) -> str:
    """Return what a library comes with."""
    return next(said for beginning, said in COMES_WITH if library.startswith(beginning))


def _stops_at(file: str, open_library: Open) -> str:
    """Name the library for want of which a file cannot be loaded; empty: all are there."""
    try:
        open_library(file)
    except OSError as error:
        # Any other complaint, as of a symbol of onnxruntime's, comes once all libraries are there.
        found = _NOT_FOUND.search(str(error))
        return found[1] if found else ""
    return ""


def _open(file: str) -> object:
    return ctypes.CDLL(file, mode=ctypes.RTLD_GLOBAL)
