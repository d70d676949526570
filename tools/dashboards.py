"""Writes the Grafana dashboards of deploy/observability: what is on them stands here, as data.

`make fix` runs it, and a test compares.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "deploy/observability"

HERE = 'job="$job",instance=~"$instance"'
"""What a viewer chose at the top."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture."""

    title: str
    unit: str
    asks: tuple[tuple[str, str], ...]
    "each a query and its legend"
    kind: str = "timeseries"
    width: int = 8
    said: str = ""
    limit: float | None = None
    "from here on it is not good"


def _by(name: str, label: str, window: str = "5m") -> str:
    return f"sum by ({label}) (rate({name}{{{HERE}}}[{window}]))"


def _share(name: str, share: float, by: str = "le") -> str:
    return f"histogram_quantile({share}, sum by ({by}) (rate({name}_bucket{{{HERE}}}[5m])))"


def _spread(name: str) -> tuple[tuple[str, str], ...]:
    return tuple((_share(name, share), said) for share, said in ((0.5, "half"), (0.95, "95 %")))


OPERATOR = (
    Panel("Calls in progress", "short", (
        (f"sum by (line) (parley_calls_active{{{HERE}}})", "{{line}}"),
        (f"sum(parley_calls_limit{{{HERE}}})", "limit"),
    )),
    Panel("Calls a minute", "short", (
        (f"60 * {_by('parley_calls_started_total', 'line')}", "{{line}}"),
    )),
    Panel("Refused a minute, by cause", "short", (
        (f"60 * {_by('parley_calls_refused_total', 'cause')}", "{{cause}}"),
    )),
    Panel("Response", "s", _spread("parley_response_seconds"), limit=2.0,
          said="from the caller's last voiced sample to the first of the answer at their ear"),
    Panel("Late frames", "percentunit", (
        (f"parley:late_ticks:share_5m{{{HERE}}}", "{{instance}}"),
    ), limit=0.01, said="share of the 20 ms ticks that came more than 5 ms late"),
    Panel("Calls that ended, by whom", "short", (
        (f"60 * {_by('parley_calls_ended_total', 'ended_by')}", "{{ended_by}}"),
    ), said="`failure`: neither the caller nor the agent"),
    Panel("Packet loss of calls", "percentunit", (
        (_share("parley_packet_loss_ratio", 0.95, "line, le"), "{{line}}, 95 %"),
    ), limit=0.05),
    Panel("Jitter of calls", "s", (
        (_share("parley_jitter_seconds", 0.95, "line, le"), "{{line}}, 95 %"),
    )),
    Panel("Opinion score", "short", (
        (_share("parley_mos", 0.5, "line, le"), "{{line}}, half"),
        (_share("parley_mos", 0.05, "line, le"), "{{line}}, worst 5 %"),
    ), said="estimated, 1 to 4.5; under 3.6 many are dissatisfied"),
    Panel("Faults a minute", "short", (
        (f"60 * {_by('parley_faults_total', 'part')}", "{{part}}"),
    )),
    Panel("Processor, by thread", "percentunit", (
        (_by("parley_thread_cpu_seconds_total", "thread"), "{{thread}}"),
    )),
    Panel("Memory", "bytes", (
        (f"process_resident_memory_bytes{{{HERE}}}", "{{instance}}"),
    )),
    Panel("Open files and sockets", "short", (
        (f"process_open_fds{{{HERE}}}", "files"), (f"parley_sockets{{{HERE}}}", "sockets"),
        (f"process_max_fds{{{HERE}}}", "files that may be open"),
    )),
    Panel("Disk left", "bytes", (
        (f"parley_disk_free_bytes{{{HERE}}}", "{{setting}}"),
    )),
    Panel("Not well", "short", (
        (f"parley_part_well{{{HERE}}} == 0", "{{part}}"),
        (f"parley_registrations_lacking{{{HERE}}} > 0", "not registered: {{line}}"),
    ), said="empty is good"),
)  # fmt: skip

AGENT = (
    Panel("Response, by agent (half)", "s", (
        (_share("parley_response_seconds", 0.5, "agent, le"), "{{agent}}"),
    ), limit=2.0),
    Panel("Response, by agent (95 %)", "s", (
        (_share("parley_response_seconds", 0.95, "agent, le"), "{{agent}}"),
    ), limit=2.0),
    Panel("Where a response goes", "s", (
        (f"parley:stage_seconds:mean_5m{{{HERE}}}", "{{stage}}"),
    ), kind="stacked", said="the stages add up to the response"),
    Panel("Cut-ins: until it is silent", "s", _spread("parley_stop_delay_seconds"), limit=0.75),
    Panel("What was cut, by evidence", "short", (
        (f"60 * {_by('parley_interruptions_total', 'evidence')}", "{{evidence}}"),
    )),
    Panel("Went on over a sound", "short", (
        (f"60 * {_by('parley_went_on_total', 'kind')}", "{{kind}}"),
    )),
    Panel("Why turns ended", "short", (
        (f"60 * {_by('parley_turns_total', 'why')}", "{{why}}"),
    )),
    Panel("Drafts", "short", (
        (f"60 * {_by('parley_drafts_total', 'outcome')}", "{{outcome}}"),
    ), said="answers begun before the turn was over: used, or thrown away"),
    Panel("Error of what was heard", "s", _spread("parley_heard_error_seconds")),
    Panel("Tools, by outcome", "short", (
        (f"60 * {_by('parley_tools_total', 'tool, outcome')}", "{{tool}}: {{outcome}}"),
    )),
    Panel("Tools, how long", "s", (
        (_share("parley_tool_seconds", 0.95, "tool, le"), "{{tool}}, 95 %"),
    ), limit=1.0),
    Panel("Tokens a minute", "short", (
        (f"60 * {_by('parley_tokens_total', 'kind')}", "{{kind}}"),
    )),
    Panel("Cached share of the input", "percentunit", (
        (
            f'sum(rate(parley_tokens_total{{{HERE},kind="cached"}}[15m]))'
            f' / sum(rate(parley_tokens_total{{{HERE},kind="input"}}[15m]))',
            "cached",
        ),
    )),
    Panel("Models here: waited", "s", (
        (f"parley:model_wait_seconds:mean_5m{{{HERE}}}", "{{model}}"),
    ), said="for a thread, on average"),
    Panel("Models here: ran", "s", (
        (f"parley:model_run_seconds:mean_5m{{{HERE}}}", "{{model}}"),
    )),
)  # fmt: skip

BOARDS = {
    "operator": ("Parley: operating", OPERATOR),
    "agent": ("Parley: what agents are like", AGENT),
}


def board(name: str) -> str:
    """Return a dashboard as Grafana imports it."""
    title, panels = BOARDS[name]
    document = {
        "uid": f"parley-{name}",
        "title": title,
        "tags": ["parley"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [_source(), _choice("job"), _choice("instance")]},
        "panels": [_panel(number, each) for number, each in enumerate(panels)],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _source() -> dict[str, Any]:
    return {"name": "source", "type": "datasource", "query": "prometheus", "label": "source"}


def _choice(label: str) -> dict[str, Any]:
    within = 'job="$job"' if label == "instance" else ""
    return {
        "name": label,
        "label": label,
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "query": f"label_values(parley_build_info{{{within}}}, {label})",
        "refresh": 2,
        "multi": label == "instance",
        "includeAll": label == "instance",
    }


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.limit is not None:
        steps.append({"color": "red", "value": panel.limit})
    stacked = {"stacking": {"mode": "normal"}, "fillOpacity": 60}
    custom = stacked if panel.kind == "stacked" else {"fillOpacity": 8}
    custom |= {"thresholdsStyle": {"mode": "dashed" if panel.limit is not None else "off"}}
    return {
        "id": number + 1,
        "title": panel.title,
        "description": panel.said,
        "type": "timeseries",
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "gridPos": {"h": 8, "w": panel.width, "x": number % 3 * 8, "y": number // 3 * 8},
        "fieldConfig": {
            "defaults": {
                "unit": panel.unit,
                "min": 0,
                "custom": custom,
                "thresholds": {"mode": "absolute", "steps": steps},
            },
            "overrides": [],
        },
        "options": {"legend": {"displayMode": "list"}, "tooltip": {"mode": "multi"}},
        "targets": [
            {"refId": chr(ord("A") + at), "expr": query, "legendFormat": legend}
            for at, (query, legend) in enumerate(panel.asks)
        ],
    }


if __name__ == "__main__":
    for each in BOARDS:
        if sys.argv[1:] == ["--write"]:
            (FOLDER / f"{each}.dashboard.json").write_text(board(each), "utf-8")
        else:
            print(board(each), end="")
