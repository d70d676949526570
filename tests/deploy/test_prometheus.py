"""A real Prometheus scrapes a gateway that has calls, and alarms go on for what is planted.

The rules are those of deploy/observability with seconds in the place of minutes.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from bench.calls.gateway_process import GatewayProcess, gateway
from gateway.caller.network import NetworkSettings
from gateway.caller.phone import Phone
from gateway.caller.place import parse_target
from gateway.caller.plan import CallPlan
from gateway.caller.twilio import TwilioCaller
from tests.support.peers import requires_program

FOLDER = Path(__file__).parents[2] / "deploy/observability"
TOKEN = "the scraper's token of a test"
PATIENCE = 60.0

CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: ["*.rules.yml"]
scrape_configs:
  - job_name: parley
    authorization: {{credentials: "{token}"}}
    static_configs: [{{targets: ["{target}"]}}]
"""


class Prometheus:
    """One that runs, by its own API."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"

    def ask(self, query: str) -> list[dict[str, Any]]:
        """Return what it answers to a query; nothing while it starts."""
        url = f"{self.address}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        except (urllib.error.URLError, ConnectionError):
            return []
        return found

    def firing(self) -> set[str]:
        """Name the alarms that are on."""
        on = self.ask('ALERTS{alertstate="firing"}')
        return {each["metric"]["alertname"] for each in on}


@contextmanager
def prometheus(folder: Path, target: str) -> Iterator[Prometheus]:
    for rules in FOLDER.glob("*.rules.yml"):
        text = rules.read_text("utf-8")
        (folder / rules.name).write_text(re.sub(r"(?<=[\[ ])(\d+)m\b", r"\1s", text))
    config = folder / "prometheus.yml"
    config.write_text(CONFIG.format(token=TOKEN, target=target))
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    program = shutil.which("prometheus")
    assert program is not None
    command = [
        program,
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "prometheus.log").open("wb") as messages:
        process = subprocess.Popen(command, stdout=messages, stderr=messages)
        try:
            yield Prometheus(port)
        finally:
            process.terminate()
            process.wait(20)


def until(true: Callable[[], bool]) -> None:
    """Wait for other processes."""
    end = time.monotonic() + PATIENCE
    while not true() and time.monotonic() < end:
        time.sleep(0.5)
    assert true()


async def place(to: GatewayProcess, seconds: float) -> None:
    line = TwilioCaller(parse_target(to.target).address)
    phone = Phone(CallPlan(hang_up_after=seconds), line.form, NetworkSettings())
    await line.call(line.new_id(), phone)


async def calls(to: GatewayProcess, prom: Prometheus) -> None:
    """Hold as many calls as may be, and try some more every second, until alarms are on."""
    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(place(to, 25.0))
        await asyncio.sleep(1.0)
        for _ in range(20):
            group.create_task(place(to, 1.0))
            await asyncio.sleep(1.0)
            on = await asyncio.to_thread(prom.firing)
            if {"ParleyFull", "ParleyCallsRefused"} <= on:
                return
        raise AssertionError(f"only {on} are on")


@pytest.mark.wide
@pytest.mark.live
@requires_program("prometheus")
def test_a_real_prometheus_scrapes_and_its_alarms_go_on(tmp_path: Path) -> None:
    limits = {"limits": {"calls": 2}}
    with gateway(limits, environment={"PARLEY_METRICS_TOKEN": TOKEN}) as running:
        target = running.address.removeprefix("http://")
        with prometheus(tmp_path, target) as prom:
            until(lambda: bool(prom.ask("parley_calls_limit == 2")))
            assert not prom.firing() & {"ParleyDown", "ParleyFull", "ParleyCallsRefused"}
            asyncio.run(calls(running, prom))
            assert prom.ask('sum(parley_calls_started_total{line="twilio"}) >= 2')
            assert prom.ask('sum(parley_calls_refused_total{cause="calls"}) >= 1')
            assert not prom.ask("scrape_samples_scraped == 0 and up == 1")
            running.stop()
            until(lambda: "ParleyDown" in prom.firing())
