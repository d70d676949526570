"""`parley tools --open`: deeds that were begun and never ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateway.__main__ import main
from gateway.tools.store import Store


def test_open_deeds_of_every_store_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parley.toml").write_text('[agents]\ndata = "data"\n')
    assert main(["tools", "--open"]) == 0
    assert capsys.readouterr().out == "nothing is open\n"
    for name in ("shop.sqlite", "other"):
        store = Store(tmp_path / "data" / name)
        store.begin("done", "call-1", "order", {"n": 1})
        store.finish("done", {"id": 7})
        store.begin("left", "call-2", "order", {"item": name})
    (tmp_path / "data/notes.txt").write_text("no store")
    assert main(["tools", "--open", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    told = [(each["store"], each["call"], each["name"], each["arguments"]) for each in found]
    assert told == [
        ("other", "call-2", "order", {"item": "other"}),
        ("shop.sqlite", "call-2", "order", {"item": "shop.sqlite"}),
    ]
    assert main(["tools", "--open"]) == 0
    assert "shop.sqlite  call call-2  order(item=shop.sqlite)" in capsys.readouterr().out
