"""Fixed lines: made once, found again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.runtime import Runtime, RuntimeSettings
from tests.tts.test_voice import Typewriter
from tts.lines import Lines, decode, encode, lines_folder
from tts.sound import Sound, SpokenWord
from tts.voice import ClauseVoice

RATE = 1000


class Process:
    """One life of the gateway: a runtime, a voice, its lines."""

    def __init__(self, folder: Path | None) -> None:
        self.engine = Typewriter()
        self.runtime = Runtime(RuntimeSettings(workers=1))
        self.lines = Lines(self.runtime, ClauseVoice(self.runtime, self.engine), folder)

    def render(self, text: str, rate: int = RATE) -> Sound:
        async def render() -> Sound:
            return await self.lines.render(text, rate)

        return asyncio.run(render())


@pytest.fixture
def lives(tmp_path: Path) -> Iterator[list[Process]]:
    processes = [Process(tmp_path / "lines") for _ in range(2)]
    yield processes
    for each in processes:
        each.runtime.close()


def test_a_line_is_made_once(lives: list[Process]) -> None:
    process = lives[0]
    assert process.lines.ready("Hello.", RATE) is None
    sound = process.render("Hello.")
    assert process.lines.ready("Hello.", RATE) == sound
    assert process.render("Hello.") == sound
    assert process.engine.rendered == ["Hello."]


def test_a_restart_finds_it(lives: list[Process]) -> None:
    before, after = lives
    sound = before.render("Hello there. Goodbye.")
    assert after.render("Hello there. Goodbye.") == sound
    assert after.engine.rendered == []


def test_another_text_rate_or_voice_is_another_line(lives: list[Process]) -> None:
    before, after = lives
    before.render("Hello.")
    after.render("Hello!")
    after.render("Hello.", 2000)
    after.engine.name = "another"
    after.lines.ready("Hello.", RATE)
    after.render("Hello.")
    assert after.engine.rendered == ["Hello!", "Hello.", "Hello."]


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"\xff", b'{"bytes":5,"mark":"","words":[]}\n12'])
def test_a_damaged_file_is_made_again(lives: list[Process], tmp_path: Path, damage: bytes) -> None:
    before, after = lives
    sound = before.render("Hello.")
    (file,) = (tmp_path / "lines").iterdir()
    file.write_bytes(damage)
    assert after.render("Hello.") == sound
    assert decode(file.read_bytes()) == sound


def test_a_disk_that_takes_nothing_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    process = Process(tmp_path / "file")
    assert process.render("Hello.").pcm
    assert process.render("Hello.").pcm
    process.runtime.close()


def test_without_a_folder_lines_are_in_memory() -> None:
    process = Process(None)
    process.render("Hello.")
    assert process.lines.ready("Hello.", RATE) is not None
    process.runtime.close()


@pytest.mark.real_time
async def test_all_lines_are_made_ready_at_each_rate(lives: list[Process]) -> None:
    process = lives[0]

    await process.lines.prepare(["Hello.", "Goodbye."], [1000, 2000])
    for text in ("Hello.", "Goodbye."):
        for rate in (1000, 2000):
            assert process.lines.ready(text, rate) is not None


def test_old_lines_are_deleted(lives: list[Process], tmp_path: Path) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    for number in range(2005):
        (folder / f"{number}.line").touch()
    lives[0].render("Hello.")
    assert len(list(folder.glob("*.line"))) == 2000


def test_the_folder_is_where_caches_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert lines_folder() == Path("/somewhere/parley/lines")


WORDS = st.builds(SpokenWord, st.text(), st.floats(0, 100), st.floats(0, 100), st.booleans())


@given(st.builds(Sound, st.binary(), st.lists(WORDS, max_size=5).map(tuple), st.sampled_from(",.")))
def test_what_is_written_is_read(sound: Sound) -> None:
    assert decode(encode(sound)) == sound
