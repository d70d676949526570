"""NVIDIA's libraries are found in the folders of wheels, or named with what brings them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from inference import libraries
from inference.errors import ProviderMissing
from inference.providers import check_libraries

PROVIDER = "/there/capi/libonnxruntime_providers_tensorrt.so"
LINKS = {
    PROVIDER: ("libcublas.so.13", "libnvinfer.so.10", "libcudnn.so.9"),
    "libcublas.so.13": ("libcublasLt.so.13",),
    "libnvinfer.so.10": (),
    "libcudnn.so.9": (),
    "libcublasLt.so.13": (),
}


@dataclass
class Loader:
    """The system's loader: knows a library by name once it was loaded from anywhere."""

    wheels: dict[str, str]
    "folder of each library"
    loaded: list[str] = field(default_factory=list)
    symbol: bool = False
    "the file itself lacks a symbol of onnxruntime's"

    def open(self, file: str) -> object:
        name = file if file == PROVIDER else Path(file).name
        for needed in LINKS[name]:
            if needed not in self.loaded:
                raise OSError(f"{needed}: cannot open shared object file: No such file")
        if name == PROVIDER and self.symbol:
            raise OSError(f"{PROVIDER}: undefined symbol: Provider_GetHost")
        self.loaded.append(name)
        return object()

    def glob(self, place: Path, pattern: str) -> list[Path]:
        folder, _, name = pattern.rpartition("/")
        known = self.wheels.get(name)
        return [place / known / name] if known and Path(known).match(folder) else []

    def complete(self) -> str:
        return libraries.complete(PROVIDER, self.glob, self.open, [Path("/site")])


WHEELS = {
    "libcublas.so.13": "nvidia/cu13/lib",
    "libcublasLt.so.13": "nvidia/cu13/lib",
    "libcudnn.so.9": "nvidia/cudnn/lib",
    "libnvinfer.so.10": "tensorrt_libs",
}


@pytest.mark.parametrize("symbol", [False, True])
def test_all_that_is_linked_is_loaded_from_wheels_what_it_needs_first(symbol: bool) -> None:
    loader = Loader(WHEELS, symbol=symbol)
    assert loader.complete() == ""
    assert loader.loaded[:4] == [
        "libcublasLt.so.13",
        "libcublas.so.13",
        "libnvinfer.so.10",
        "libcudnn.so.9",
    ]


@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        ("libnvinfer.so.10", "TensorRT: pip install 'parley[tensorrt]'"),
        ("libcublasLt.so.13", "CUDA: pip install 'parley[gpu]'"),
        ("libcudnn.so.9", "cuDNN: pip install 'parley[gpu]'"),
    ],
)
def test_what_is_missing_is_named_with_what_brings_it(lacking: str, said: str) -> None:
    loader = Loader({name: folder for name, folder in WHEELS.items() if name != lacking})
    assert loader.complete() == lacking
    assert libraries.origin(lacking) == said


def test_the_driver_is_named() -> None:
    assert libraries.origin("libcuda.so.1") == "NVIDIA's driver"


def test_a_library_that_is_found_and_helps_nothing_ends_the_search() -> None:
    """A file of the right name that the loader goes on asking for is not tried for ever."""

    def never(_file: str) -> object:
        raise OSError("libcudnn.so.9: cannot open shared object file: No such file")

    found = libraries.complete(PROVIDER, Loader(WHEELS).glob, never, [Path("/site")])
    assert found == "libcudnn.so.9"


def test_a_provider_of_another_build_is_left_to_onnxruntime(tmp_path: Path) -> None:
    assert libraries.load("tensorrt", tmp_path) == ""


def test_a_file_that_the_loader_refuses_for_another_reason_is_left_to_onnxruntime(
    tmp_path: Path,
) -> None:
    (tmp_path / libraries.PROVIDER_FILES["cuda"]).write_bytes(b"no library")
    assert libraries.load("cuda", tmp_path) == ""


def test_missing_libraries_are_an_error_unless_falling_back_was_allowed() -> None:
    missing = ("tensorrt needs libnvinfer.so.10 (TensorRT: pip install 'parley[tensorrt]')",)
    with pytest.raises(ProviderMissing, match=r"needs libnvinfer\.so\.10 \(TensorRT: pip install"):
        check_libraries(missing, False)
    check_libraries(missing, True)
    check_libraries((), False)
