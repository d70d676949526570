"""How a process stands, as `/metrics` tells it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gateway.call.pacer import Pacer
from gateway.call.switchboard import AdmissionSettings, Switchboard
from gateway.lines.port import Standing
from gateway.metrics import families as f
from gateway.metrics.families import FAMILIES
from gateway.metrics.series import Registry
from gateway.observe.journal import Journal
from gateway.observe.settings import LogSettings
from gateway.process.figures import Figures, Places, expires
from gateway.process.judging import Judge, Watched
from inference.pool import Workers
from tests.support.certificates import certificate

STANDINGS = {
    "sip": Standing("note", "UDP 5060; carrier: refused", 1),
    "webrtc": Standing("ready", "with tokens"),
    "twilio": Standing("off", "twilio.enabled is false"),
}


@pytest.mark.real_time
async def test_a_process_says_how_it_stands(tmp_path: Path) -> None:
    pacer, workers = Pacer(), Workers(1)
    board = Switchboard(pacer, lambda leg: None, lambda name: False, AdmissionSettings(calls=7))  # type: ignore[arg-type, return-value]
    with Journal(LogSettings(path=str(tmp_path / "calls.jsonl"))) as journal:
        await workers.run(lambda: None, model="voice")
        judge = Judge(Watched(journal, None, lambda: STANDINGS, {}))
        places = Places(board, pacer, judge, lambda: STANDINGS, workers, {"log.path": tmp_path}, {})
        gauges = (await Figures(places).look())()
    workers.close()
    assert gauges[f.LIMIT] == {(): 7.0}
    assert gauges[f.ACTIVE] == {("sip",): 0.0, ("webrtc",): 0.0}
    assert gauges[f.LINE_READY] == {("sip",): 0.0, ("webrtc",): 1.0}
    assert gauges[f.UNREGISTERED] == {("sip",): 1.0, ("webrtc",): 0.0}
    assert gauges[f.DRAINING] == {(): 1.0}  # it does not serve yet
    assert gauges[f.MODEL_JOBS] == {("voice",): 1.0}
    assert gauges[f.DISK][("log.path",)] > 0
    assert gauges[f.PARTS][("ports",)] == 0.0
    assert gauges[f.MEMORY][()] > 1_000_000
    text = Registry(FAMILIES).render(gauges)
    assert "parley_build_info{version=" in text


def test_a_certificate_says_when_it_runs_out(tmp_path: Path) -> None:
    found = expires(certificate(tmp_path))
    assert found is not None
    assert 1 < (found - time.time()) / 86400 < 2
    assert expires(tmp_path / "none.pem") is None
