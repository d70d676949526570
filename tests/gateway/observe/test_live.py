"""Watching a call: lines are told as they come, until the call has ended."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from gateway.observe.live import Paper, batches, watch
from tests.support.log_lines import CALL, line, story


def test_watching_ends_with_the_call(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\n".join([line(0.0, "key", {}, "CAother"), *story(), story()[0]]) + b"\n")
    out = io.StringIO()
    heard = watch(path, Console(file=out), CALL)
    assert [each.event for each in heard][-1] == "call_ended"
    assert {each.call for each in heard} == {CALL}
    assert "ended by agent" in out.getvalue()


def test_watching_ends_when_nothing_more_will_come(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\n".join(story()[:3]) + b"\n")
    heard = watch(path, Console(file=io.StringIO()), gone=lambda: True)
    assert len(heard) == 3


def test_following_gives_what_comes(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    coming = batches(path, 1, follow=True)
    assert next(coming) == [b"two"]
    with path.open("ab") as more:
        more.write(b"three\n")
    assert next(coming) == [b"three"]
    coming.close()


def test_paper_has_no_blank_ends_of_lines() -> None:
    out = io.StringIO()
    Paper(Console(file=out, width=30)).print("a   ")
    assert out.getvalue() == "a\n"


def test_a_terminal_keeps_its_width() -> None:
    out = io.StringIO()
    Paper(Console(file=out, width=20, force_terminal=True, color_system=None)).print("a " * 15)
    assert max(map(len, out.getvalue().splitlines())) <= 20
