"""A recording on the disk: names, headers, and what a killed process left."""

from __future__ import annotations

from pathlib import Path

import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from media import private
from media.wav_file import FRAME, HEADER, WavFile, header, mend, names


def test_a_header_is_what_a_library_reads(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(header(3 * FRAME, 16000) + bytes(3 * FRAME))
    found = soundfile.info(path)
    assert (found.frames, found.samplerate, found.channels) == (3, 16000, 2)
    assert found.subtype == "PCM_16"


def test_names_do_not_end_in_the_same_place_twice() -> None:
    given = names(Path("a/b.c.wav"))
    assert [str(next(given)) for _ in range(3)] == ["a/b.c.wav", "a/b.c.2.wav", "a/b.c.3.wav"]


@given(st.lists(st.tuples(st.integers(0, 50), st.binary(max_size=40)), min_size=1, max_size=8))
def test_whatever_is_put_lies_where_it_was_put(
    tmp_path_factory: pytest.TempPathFactory, puts: list[tuple[int, bytes]]
) -> None:
    file = WavFile(tmp_path_factory.mktemp("put") / "a.wav", 8000)
    wanted = bytearray()
    for start, some in puts:
        sound = some[: len(some) // FRAME * FRAME]
        place = start * FRAME
        if sound:
            wanted.extend(bytes(max(0, place + len(sound) - len(wanted))))
            wanted[place : place + len(sound)] = sound
        assert file.put(start, sound) == 0
        frames = soundfile.info(file.path).frames
        assert frames >= len(wanted) // FRAME
    assert file.path.read_bytes()[HEADER:] == bytes(wanted)


@pytest.mark.parametrize("extra", [0, 3, 4 * 100, 4 * 100 + 3])
def test_what_a_killed_process_left_is_completed(tmp_path: Path, extra: int) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(header(8, 8000) + b"\1" * (8 + extra))
    mend(path)
    samples, rate = soundfile.read(path, dtype="int16")
    assert (len(samples), rate) == (2 + extra // 4, 8000)
    before = path.read_bytes()
    mend(path)
    assert path.read_bytes() == before


def test_a_file_in_which_nothing_is_goes(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.touch()
    mend(path)
    assert not path.exists()


def test_what_is_no_recording_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(b"something else that is longer than a header, of a stranger")
    mend(path)
    assert path.read_bytes().startswith(b"something else")


@pytest.mark.parametrize("nameless", [True, False])
def test_it_is_made_with_its_header_whatever_the_file_system_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nameless: bool
) -> None:
    if not nameless:
        monkeypatch.setattr(private, "open_nameless", lambda folder, group_reads: None)
    (tmp_path / "a.wav").write_text("somebody's")
    file = WavFile(tmp_path / "a.wav", 8000)
    file.put(0, b"")
    assert file.path.name == "a.2.wav"
    assert file.path.read_bytes() == header(0, 8000)
    assert (tmp_path / "a.wav").read_text() == "somebody's"
    assert len(list(tmp_path.iterdir())) == 2
