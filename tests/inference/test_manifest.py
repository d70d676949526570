"""The manifest names every file exactly, and a file that is not right is never given out."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from inference import ModelMissing, ModelWrong
from inference.manifest import (
    Model,
    ModelFile,
    cache_folder,
    find,
    inspect,
    list_models,
    models,
    parse,
    verify,
)

CONTENT = b"weights and biases"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PARLEY_MODELS", str(tmp_path))
    return tmp_path


def a_file(content: bytes = CONTENT, name: str = "net.onnx") -> ModelFile:
    return ModelFile(name, name, len(content), hashlib.sha256(content).hexdigest())


def a_model(*files: ModelFile) -> Model:
    return Model("net", "voice activity", "net-pkg", "1.0", "", "MIT", "https://example.org", files)


def test_shipped_manifest_names_the_four_roles() -> None:
    assert {each.role for each in models().values()} == {
        "voice activity",
        "end of turn",
        "recogniser",
        "synthesiser",
    }
    for each in models().values():
        assert len(each.wheel) == 64
        assert all(len(file.sha256) == 64 and file.bytes > 0 for file in each.files)
        assert each.licence in {"MIT", "BSD-2-Clause", "Apache-2.0"}
        assert any("LICENSE" in file.name for file in each.files)
        assert not each.main or each.main in {file.name for file in each.files}


def test_missing_model_is_named_with_its_place_and_the_command(folder: Path) -> None:
    with pytest.raises(ModelMissing) as raised:
        find("silero-vad")
    said = str(raised.value)
    assert "silero_vad.onnx" in said
    assert str(folder / "silero-vad-6.2.3" / "silero_vad.onnx") in said
    assert "parley models fetch" in said


def test_a_file_of_the_right_length_and_wrong_content_is_wrong(folder: Path) -> None:
    owner = a_model(a_file())
    place = folder / owner.folder / "net.onnx"
    place.parent.mkdir()
    place.write_bytes(CONTENT[::-1])
    with pytest.raises(ModelWrong, match=r"net\.onnx.*is not the file.*parley models fetch"):
        verify(owner, owner.files[0])
    place.write_bytes(CONTENT)
    assert verify(owner, owner.files[0]) == place


def test_a_file_that_changed_after_it_was_proven_is_looked_at_again(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(CONTENT)
    assert inspect(path, a_file()) == "present"
    path.write_bytes(CONTENT[::-1])
    os.utime(path, ns=(1, 1))
    assert inspect(path, a_file()) == "wrong"


def test_a_short_file_is_wrong_and_no_file_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    assert inspect(path, a_file()) == "missing"
    path.write_bytes(CONTENT[:-1])
    assert inspect(path, a_file()) == "wrong"


def test_unknown_names_list_the_known_ones(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"no model is called 'whisper'.*hibari.*silero-vad"):
        find("whisper")
    with pytest.raises(ValueError, match=r"has no file 'x'.*silero_vad\.onnx"):
        find("silero-vad", "x")
    with pytest.raises(ValueError, match=r"has no file ''.*encoder_model\.ort"):
        find("moonshine")


def test_listing_tells_the_state_of_every_file(folder: Path) -> None:
    listed = list_models()
    assert {each.state for each in listed} == {"missing"}
    assert len(listed) == sum(len(each.files) for each in models().values())
    turn = next(each for each in listed if each.file == "smart-turn-v3.2-cpu.onnx")
    assert turn.path == folder / "pipecat-ai-1.14.0" / "smart-turn-v3.2-cpu.onnx"
    assert (turn.name, turn.licence, turn.bytes) == ("smart-turn", "BSD-2-Clause", 8679182)


def test_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PARLEY_MODELS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "parley" / "models"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    assert cache_folder() == tmp_path / "me" / ".cache" / "parley" / "models"


MANIFEST = """
[[model]]
name = "net"
role = "voice activity"
package = "net-pkg"
version = "1.0"
wheel = "ab"
licence = "MIT"
home = "https://example.org"
prefix = "net/data/"
files = [
  { path = "net/data/deep/net.onnx", bytes = 3, sha256 = "cd" },
  { path = "net_pkg-1.0.dist-info/LICENSE", bytes = 4, sha256 = "ef" },
]
"""


def test_prefix_is_cut_off_and_what_lies_outside_keeps_its_name_alone() -> None:
    assert [each.name for each in parse(MANIFEST)["net"].files] == ["deep/net.onnx", "LICENSE"]


@pytest.mark.parametrize(
    ("was", "becomes"),
    [("net/data/deep/net.onnx", "../net.onnx"), ('licence = "MIT"', 'license = "MIT"')],
)
def test_malformed_manifest_is_refused(was: str, becomes: str) -> None:
    with pytest.raises(ValueError, match="manifest"):
        parse(MANIFEST.replace(was, becomes))
