"""What callers hear is in the agent's language, also what its file does not say."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from gateway.agents.lines import texts
from gateway.agents.loading import load
from gateway.call.settings import FixedLines

LANGUAGES = [file.stem for file in sorted(Path("turn/languages").glob("*.toml"))]
NAMES = {field.name for field in fields(FixedLines)} - {"hear_out", "voicemail"}


def agent(folder: Path, text: str) -> FixedLines:
    path = folder / "desk.toml"
    path.write_text(text, encoding="utf-8")
    return load(path).conversation().lines


@pytest.mark.parametrize("language", [each for each in LANGUAGES if each != "en"])
def test_every_language_that_turns_are_known_in_has_every_line(language: str) -> None:
    found = texts(language)
    assert set(found) == NAMES
    assert all(text.strip() == text != "" for text in found.values())
    assert not set(found.values()) & set(FixedLines().all())


def test_what_the_file_leaves_out_is_said_in_its_language(tmp_path: Path) -> None:
    lines = agent(tmp_path, 'language = "de-AT"\n[lines]\ngreeting = "Servus."\nfiller = ""\n')
    assert (lines.greeting, lines.filler) == ("Servus.", "")
    assert lines.still_there == "Sind Sie noch da?"
    assert lines.voicemail == ""


@pytest.mark.parametrize("language", ["en-GB", "xx"])
def test_it_is_english_otherwise(tmp_path: Path, language: str) -> None:
    assert agent(tmp_path, f'language = "{language}"\n') == FixedLines()
