"""The table of where a new thing goes names files and folders that are there."""

from __future__ import annotations

import re
from pathlib import Path

from gateway.tools import toolbox
from turn import words

ROWS = [
    line
    for line in Path("CONTRIBUTING.md").read_text("utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| what")
]


def test_every_place_is_there() -> None:
    assert len(ROWS) > 15
    for row in ROWS:
        named = re.findall(r"`([\w./-]+/[\w./-]*)`", row)
        assert named, f"{row}: names no place"
        missing = [each for each in named if not Path(each).exists()]
        assert not missing, f"{row}: {missing}"


def test_what_is_named_in_a_file_is_in_it() -> None:
    assert toolbox.Tool
    assert words.Lexicon
    assert "class FixedLines" in Path("gateway/call/settings.py").read_text("utf-8")
