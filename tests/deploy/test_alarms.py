"""Every alarm in the situation it is for, tried by Prometheus's own `promtool test rules`.

And that no rule and no dashboard asks for a metric that there is not.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from gateway.metrics.families import FAMILIES
from tests.support.peers import requires_program
from tools.dashboards import BOARDS, board

FOLDER = Path(__file__).parents[2] / "deploy/observability"
RULES = ("recording.rules.yml", "alerts.rules.yml")
DASHBOARDS = ("operator.dashboard.json", "agent.dashboard.json")

SITUATIONS: dict[str, tuple[str, dict[str, str]]] = {
    "ParleyDown": (
        "2m",
        {
            "up": "0x30",
        },
    ),
    "ParleyCallsRefused": (
        "20m",
        {
            'parley_calls_refused_total{line="sip",cause="calls"}': "0+6x200",
            'parley_calls_started_total{line="sip",direction="inbound",agent="w"}': "0+6x200",
        },
    ),
    "ParleyFull": (
        "10m",
        {
            'parley_calls_active{line="sip"}': "48x100",
            "parley_calls_limit": "50x100",
        },
    ),
    "ParleyLateFrames": (
        "15m",
        {
            "parley_late_ticks_total": "0+30x100",
            "parley_ticks_total": "0+500x100",
        },
    ),
    "ParleyStoodStill": (
        "5m",
        {
            'parley_loop_stood_total{kind="blocked"}': "0 0 1x60",
        },
    ),
    "ParleySlowResponses": (
        "20m",
        {
            'parley_response_seconds_bucket{line="sip",agent="w",le="2"}': "0+1x200",
            'parley_response_seconds_bucket{line="sip",agent="w",le="5"}': "0+4x200",
            'parley_response_seconds_bucket{line="sip",agent="w",le="+Inf"}': "0+4x200",
        },
    ),
    "ParleySlowStops": (
        "20m",
        {
            'parley_stop_delay_seconds_bucket{line="sip",le="0.75"}': "0+1x200",
            'parley_stop_delay_seconds_bucket{line="sip",le="2"}': "0+4x200",
            'parley_stop_delay_seconds_bucket{line="sip",le="+Inf"}': "0+4x200",
        },
    ),
    "ParleyHeardError": (
        "40m",
        {
            'parley_heard_error_seconds_bucket{basis="estimated",le="0.2"}': "0+1x400",
            'parley_heard_error_seconds_bucket{basis="estimated",le="0.5"}': "0+4x400",
            'parley_heard_error_seconds_bucket{basis="estimated",le="+Inf"}': "0+4x400",
        },
    ),
    "ParleyModelErrors": (
        "5m",
        {
            'parley_faults_total{part="model"}': "0 0 9x60",
        },
    ),
    "ParleyFallbacks": (
        "5m",
        {
            'parley_fallbacks_total{next="spare"}': "0 0 5x60",
        },
    ),
    "ParleyRegistrationLost": (
        "5m",
        {
            'parley_registrations_lacking{line="sip"}': "1x60",
        },
    ),
    "ParleyPacketLoss": (
        "30m",
        {
            'parley_packet_loss_ratio_bucket{line="sip",le="0.05"}': "0+1x400",
            'parley_packet_loss_ratio_bucket{line="sip",le="0.1"}': "0+4x400",
            'parley_packet_loss_ratio_bucket{line="sip",le="+Inf"}': "0+4x400",
        },
    ),
    "ParleyCertificateExpires": (
        "2h",
        {
            'parley_certificate_expiry_timestamp_seconds{setting="sip.certificate"}': "864000x1000",
        },
    ),
    "ParleyDiskFull": (
        "10m",
        {
            'parley_disk_free_bytes{setting="log.path"}': "500000000x100",
        },
    ),
    "ParleyLogLost": (
        "5m",
        {
            "parley_log_lost_lines_total": "0 0 40x60",
            "parley_log_dropped_lines_total": "0x60",
        },
    ),
    "ParleyDrainLong": (
        "10m",
        {
            'parley_calls_active{line="sip"}': "2x100",
            "parley_draining": "1x100",
        },
    ),
    "ParleyDrainCut": (
        "5m",
        {
            "parley_calls_cut_total": "0 0 2x60",
        },
    ),
    "ParleyProcessLost": (
        "2m",
        {
            "parley_calls_lost_total": "3x60",
            "process_start_time_seconds": "0x60",
        },
    ),
    "ParleyPartUnwell": (
        "10m",
        {
            'parley_part_well{part="disk"}': "0x100",
        },
    ),
    "ParleyBusAway": ("15m", {"parley_bus_up": "0x100"}),
    "ParleyWebhooksWait": ("15m", {"parley_webhook_events_waiting": "300x100"}),
    "ParleyNoCalls": (
        "26h",
        {
            "up": "1x1900",
            'parley_calls_started_total{line="sip",agent="w"}': "0+5x120 600x1800",
        },
    ),
}
"""By alarm: after how long it must be on, and what Prometheus saw, every ten seconds.

Of `ParleyNoCalls`, which looks a day back, every fifty."""

QUIET = {
    "up": "1x200",
    'parley_calls_started_total{line="sip",direction="inbound",agent="w"}': "0+6x200",
    'parley_calls_refused_total{line="sip",cause="calls"}': "0x200",
    'parley_calls_active{line="sip"}': "10x200",
    "parley_calls_limit": "50x200",
    "parley_draining": "0x200",
    "parley_ticks_total": "0+500x200",
    "parley_late_ticks_total": "0+1x200",
    'parley_response_seconds_bucket{line="sip",agent="w",le="0.5"}': "0+4x200",
    'parley_response_seconds_bucket{line="sip",agent="w",le="+Inf"}': "0+4x200",
    'parley_faults_total{part="model"}': "0x200",
    'parley_registrations_lacking{line="sip"}': "0x200",
    'parley_disk_free_bytes{setting="log.path"}': "50000000000x200",
    'parley_certificate_expiry_timestamp_seconds{setting="sip.certificate"}': "8640000x200",
    "parley_calls_lost_total": "0x200",
    "process_start_time_seconds": "0x200",
    'parley_part_well{part="disk"}': "1x200",
}

SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}
KNOWN = {each.name + suffix: each for each in FAMILIES for suffix in SUFFIXES[each.kind]}

NAME = re.compile(r"\b(?:parley|process)_[a-z0-9_]+\b|\bparley:[a-z0-9_:]+\b")


def recorded() -> set[str]:
    """Return what the recording rules make."""
    text = (FOLDER / RULES[0]).read_text("utf-8")
    return set(re.findall(r"record: (\S+)", text))


def expressions(file: str) -> list[str]:
    """Return what a file asks Prometheus."""
    text = (FOLDER / file).read_text("utf-8")
    if file.endswith(".json"):
        panels = json.loads(text)["panels"]
        return [target["expr"] for panel in panels for target in panel["targets"]]
    return [" ".join(each.split()) for each in _exprs(text)]


def _exprs(text: str) -> list[str]:
    return re.findall(r"expr: (?:>-\n)?((?:.+\n)(?: {10}.+\n)*)", text)


@pytest.mark.parametrize("file", [*RULES, *DASHBOARDS])
def test_nothing_asks_for_a_metric_that_there_is_not(file: str) -> None:
    found = expressions(file)
    assert len(found) >= 8
    asked = {name for each in found for name in NAME.findall(each)}
    assert asked - set(KNOWN) - recorded() == set()


@pytest.mark.parametrize("file", [*RULES, *DASHBOARDS])
def test_nothing_asks_for_a_label_that_the_metric_has_not(file: str) -> None:
    for each in expressions(file):
        for name, inner in re.findall(r"(parley_\w+)\{([^}]*)\}", each):
            labels = set(re.findall(r"(\w+)\s*[=!]", re.sub(r'"[^"]*"', '""', inner)))
            assert labels <= {*KNOWN[name].labels, "job", "instance", "le"}, each


@pytest.mark.parametrize("name", BOARDS)
def test_the_dashboards_are_what_is_declared(name: str) -> None:
    text = (FOLDER / f"{name}.dashboard.json").read_text("utf-8")
    assert text == board(name), "run: make fix"


def series(seen: dict[str, str]) -> list[dict[str, str]]:
    """Write what was seen of one gateway as `promtool` reads it."""
    found = []
    for name, values in seen.items():
        metric, _, labels = name.partition("{")
        inner = ",".join(filter(None, ('job="parley",instance="a"', labels.rstrip("}"))))
        found.append({"series": f"{metric}{{{inner}}}", "values": values})
    return found


@requires_program("promtool")
def test_every_alarm_is_on_in_its_situation_and_none_in_a_quiet_one(tmp_path: Path) -> None:
    text = (FOLDER / RULES[1]).read_text("utf-8")
    assert set(re.findall(r"alert: (\S+)", text)) == set(SITUATIONS)
    tests = [
        {
            "name": alarm,
            "interval": "50s" if alarm == "ParleyNoCalls" else "10s",
            "input_series": series(seen),
            "promql_expr_test": [
                {
                    "expr": f'count(ALERTS{{alertname="{alarm}",alertstate="firing"}})',
                    "eval_time": at,
                    "exp_samples": [{"labels": "{}", "value": 1}],
                }
            ],
        }
        for alarm, (at, seen) in SITUATIONS.items()
    ]
    quiet = {"expr": "ALERTS", "eval_time": "30m", "exp_samples": []}
    tests.append(
        {"interval": "10s", "input_series": series(QUIET), "promql_expr_test": [quiet]}
    )  # fmt: skip
    document = {
        "rule_files": [str(FOLDER / each) for each in RULES],
        "evaluation_interval": "1m",
        "tests": tests,
    }
    path = tmp_path / "alarms.test.yml"
    path.write_text(json.dumps(document))  # JSON is YAML
    tried = subprocess.run(
        ["promtool", "test", "rules", str(path)], text=True, capture_output=True, check=False
    )
    assert tried.returncode == 0, tried.stdout + tried.stderr
