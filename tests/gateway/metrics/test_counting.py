"""What Prometheus is told of what the log told."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.log_events import (
    BackendLogged,
    CallEndedLogged,
    CallRefusedLogged,
    CallStartedLogged,
    FaultLogged,
    InterruptedLogged,
    LogEvent,
    Stages,
    ToolLogged,
    TransferRefusedLogged,
    TurnEndedLogged,
    TurnLogged,
    UsageLogged,
)
from gateway.metrics import families as f
from gateway.metrics.counting import Counting
from gateway.metrics.families import FAMILIES
from gateway.metrics.series import MOST, Registry
from gateway.metrics.tokens import tokens
from tests.support.peers import requires_program

NUMBER, WORDS = "+19005550123", "my secret sentence"


def started(agent: str = "workshop") -> CallStartedLogged:
    return CallStartedLogged(
        line="sip", caller=NUMBER, callee="+19005550100", agent=agent, direction="inbound",
        codec="pcmu",
    )  # fmt: skip


CALL: Sequence[LogEvent] = (
    started(),
    TurnEndedLogged(
        turn=1, why="semantic", probability=0.9, detector_queue=0.004, detector_seconds=0.03
    ),
    TurnLogged(
        turn=1,
        stages=Stages(
            end_of_turn=0.2, transcript=0.05, first_token=0.1, first_audio=0.1, line=0.05
        ),
        response=0.5,
        drafted=False,
    ),
    InterruptedLogged(
        utterance=2, kind="reply", heard=1.0, error=0.02, basis="sent", queued=3.0,
        heard_text=WORDS, text=WORDS, evidence=f"words: {WORDS}, 0.82 s", stop_delay=0.31,
    ),
    ToolLogged(name="book", outcome="asked"),
    ToolLogged(name="book", outcome="done", seconds=0.4),
    UsageLogged(figures={"prompt_tokens": 100, "completion_tokens": 20, "cached_tokens": 64}),
    FaultLogged(part="model", reason=f"it said {WORDS}"),
    BackendLogged(name="", state="lost", next="spare"),
    TransferRefusedLogged(target=NUMBER, reason=WORDS),
    CallEndedLogged(
        reason="drained", ended_by="agent", seconds=42.0, turns=1,
        quality={"received": 990, "lost": 8, "late": 2, "jitter": 0.004, "mos": 4.1},
    ),
    CallRefusedLogged(line="sip", direction="inbound", cause="calls", caller=NUMBER),
    CallRefusedLogged(line="sip", direction="inbound", cause="calls", count=30),
)  # fmt: skip


def told(*events: LogEvent) -> Registry:
    registry = Registry(FAMILIES)
    counting = Counting(registry)
    for event in events:
        counting.take("CA1", 1772460131.5, 1.0, event)
    return registry


def value(text: str, name: str, **labels: str) -> float:
    found = [
        float(line[1])
        for line in re.findall(rf"^{name}(?:{{(?P<labels>.*)}})? (\S+)$", text, re.MULTILINE)
        if line[0] == ",".join(f'{label}="{each}"' for label, each in labels.items())
    ]
    assert len(found) == 1, (name, labels, found)
    return found[0]


def test_a_call_is_counted_by_what_the_log_tells_of_it() -> None:
    text = told(*CALL).render({})
    assert value(text, "parley_calls_started_total", line="sip", direction="inbound",
                 agent="workshop") == 1  # fmt: skip
    assert value(text, "parley_calls_ended_total", line="sip", agent="workshop",
                 ended_by="agent") == 1  # fmt: skip
    assert value(text, "parley_calls_refused_total", line="sip", cause="calls") == 31
    assert value(text, "parley_calls_cut_total") == 1
    assert value(text, "parley_response_seconds_sum", line="sip", agent="workshop") == 0.5
    assert value(text, "parley_response_seconds_bucket", line="sip", agent="workshop",
                 le="0.5") == 1  # fmt: skip
    assert value(text, "parley_response_seconds_bucket", line="sip", agent="workshop",
                 le="0.4") == 0  # fmt: skip
    assert value(text, "parley_stage_seconds_sum", stage="end_of_turn") == 0.2
    assert value(text, "parley_stop_delay_seconds_count", line="sip") == 1
    assert value(text, "parley_heard_error_seconds_count", basis="sent") == 1
    assert value(text, "parley_interruptions_total", evidence="words") == 1
    assert value(text, "parley_turn_detector_seconds_sum") == 0.03
    assert value(text, "parley_tools_total", tool="book", outcome="done") == 1
    assert value(text, "parley_tokens_total", agent="workshop", kind="cached") == 64
    assert value(text, "parley_faults_total", part="model") == 1
    assert value(text, "parley_fallbacks_total", next="spare") == 1
    assert value(text, "parley_transfers_total", outcome="not_allowed") == 1
    assert value(text, "parley_packet_loss_ratio_sum", line="sip") == pytest.approx(10 / 998)
    assert value(text, "parley_packets_total", line="sip", state="lost") == 8


def test_nothing_personal_is_told() -> None:
    text = told(*CALL).render({})
    assert NUMBER not in text
    assert "secret" not in text


def test_every_family_is_told_and_a_kind_never_changes() -> None:
    text = told().render({f.ACTIVE: {("sip",): 3.0}})
    assert "parley_calls_active{line=\"sip\"} 3\n" in text  # fmt: skip
    for each in FAMILIES:
        assert f"# TYPE {each.name} {each.kind}\n" in text
    assert len({each.name for each in FAMILIES}) == len(FAMILIES)


def test_invented_names_do_not_fill_the_memory() -> None:
    events = [
        event
        for number in range(2 * MOST)
        for event in (
            started(f"agent {number}"),
            ToolLogged(name=f"tool {number}", outcome="failed", seconds=1.0),
        )
    ]
    text = told(*events).render({})
    assert value(text, "parley_calls_started_total", line="sip", direction="inbound",
                 agent="other") == MOST  # fmt: skip
    assert value(text, "parley_tool_seconds_count", tool="other") == MOST
    assert text.count("parley_calls_started_total{") == MOST + 1


def test_a_name_may_hold_anything() -> None:
    name = 'a "quoted"\\name\nof two lines'
    text = told(ToolLogged(name=name, outcome="done")).render({})
    assert r'{tool="a \"quoted\"\\name\nof two lines",outcome="done"} 1' in text


@pytest.mark.parametrize(
    ("figures", "found"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2}, {"input": 9, "output": 2}),
        (
            {"input_tokens": 7, "output_tokens": 3, "input_token_details": {"cached_tokens": 5}},
            {"input": 7, "output": 3, "cached": 5},
        ),
        ({"promptTokenCount": 4, "responseTokenCount": 1}, {"input": 4, "output": 1}),
        ({"rate_limits": [{"name": "tokens"}], "seconds": 3.0}, {}),
        ({"input_tokens": "many", "input_token_details": 3, "output_tokens": -1}, {}),
    ],
)
def test_tokens_are_read_in_every_vendors_words(
    figures: dict[str, object], found: dict[str, float]
) -> None:
    assert tokens(figures) == found


def test_prometheus_own_library_reads_what_is_written() -> None:
    page = told(*CALL).render({f.ACTIVE: {("sip",): 3.0}})
    families = {family.name: family for family in text_string_to_metric_families(page)}
    active = families[f.ACTIVE.name]
    assert [(each.labels, each.value) for each in active.samples] == [({"line": "sip"}, 3.0)]
    assert any(family.type == "histogram" for family in families.values())


@requires_program("promtool")
def test_promtool_has_nothing_to_say() -> None:
    """`promtool check metrics` knows Prometheus's rules for names, units and helps."""
    promtool = shutil.which("promtool")
    assert promtool is not None
    asked = subprocess.run(
        [promtool, "check", "metrics"], input=told(*CALL).render({f.ACTIVE: {("sip",): 3.0}}),
        text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert (asked.returncode, asked.stdout + asked.stderr) == (0, "")
