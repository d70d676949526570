"""A small run against a gateway of its own: real processes, real time, the embedded models."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.calls.gateway_process import settings_text

pytestmark = pytest.mark.live


def test_a_small_run_is_valid(tmp_path: Path) -> None:
    (tmp_path / "parley.toml").write_text(settings_text())
    few = "--rates 0.5 --length uniform:8-12 --seconds 9 --settle 2 --cut-ins 0.5"
    # A machine that does other work answers late; that it is measured is what is tested here.
    patient = "--response 8 --stop-delay 4 --late-after 3 --late 1 --missing 1 --answer 9 --good 0"
    command = [sys.executable, "-m", "gateway", "goodput", *few.split(), *patient.split()]
    done = subprocess.run(
        [*command, "-c", "parley.toml", "--plot", "curve.svg", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (point,) = found["points"]
    assert found["valid"], point["problems"]
    assert found["left_out"] == []
    assert found["capacity"]["rate"] == 0.5
    assert found["machine"]["cores"] >= 1
    assert point["turns"] >= 1
    assert 0.1 < point["response"]["p50"] < 8
    assert 0 < point["cost"] < 1
    assert 0 < point["usage"]["loads"]["callers"] < 0.7
    # Where the machine is busy, a gateway with a call in progress refuses the next: counted apart.
    assert point["broken"] == 0, point["breaks"]
    ElementTree.fromstring((tmp_path / "curve.svg").read_text())
