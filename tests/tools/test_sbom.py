"""The bill of materials names the models too, and a licence for everything that says one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from inference.manifest import models
from tools import sbom

PACKAGES = [
    {"name": "msgspec", "version": "1", "licenses": [{"license": {"id": "BSD-3-Clause"}}]},
    {"name": "duckdb", "version": "2", "licenses": [{"expression": "MIT OR Apache-2.0"}]},
    {"name": "webrtcvad-wheels", "version": "3"},
    {"name": "nobody's", "version": "4"},
]


def test_models_are_added_and_every_licence_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bill = tmp_path / "sbom.json"
    bill.write_text(json.dumps({"bomFormat": "CycloneDX", "components": PACKAGES}))
    monkeypatch.setattr(sys, "argv", ["sbom", str(bill)])
    assert sbom.main() == 0
    written = json.loads(bill.read_text())
    added = {each["name"]: each for each in written["components"][len(PACKAGES) :]}
    assert added.keys() == models().keys()
    assert added["hibari"]["licenses"] == [{"expression": "Apache-2.0"}]
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(PACKAGES) + len(added)
    said = {line[42:].split(" ")[0]: line[:40].strip() for line in printed}
    assert said["msgspec"] == "BSD-3-Clause"
    assert said["duckdb"] == "MIT OR Apache-2.0"
    assert said["webrtcvad-wheels"] not in ("", sbom.UNKNOWN)
    assert said["nobody's"] == sbom.UNKNOWN
