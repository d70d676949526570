"""The call log's vocabulary: its names on the wire, and what is left out."""

from __future__ import annotations

from gateway.log_events import (
    CallerSpokeLogged,
    CallStartedLogged,
    UsageLogged,
    fields_of,
    name_of,
)
from tests.support.log_lines import SAMPLES

NAMES = {
    *("call_started", "answered_by", "caller_spoke", "turn_ended", "draft", "turn", "agent_spoke"),
    *("interrupted", "backchannel", "resumed", "tool", "key", "input_dropped", "idle", "backend"),
    *("usage", "transfer", "fault", "call_ended", "log_dropped", "log_lost"),
}
"""What readers outside know: none of them may change."""


def test_no_name_has_changed() -> None:
    assert {name_of(each) for each in SAMPLES} >= NAMES


def test_what_says_nothing_is_left_out() -> None:
    assert fields_of(CallerSpokeLogged(text="")) == {"text": ""}


def test_who_called_whom_keeps_its_name_on_the_wire() -> None:
    started = CallStartedLogged(
        line="sip", caller="a", callee="b", agent="c", direction="inbound", codec="pcmu"
    )
    fields = fields_of(started)
    assert (fields["from"], fields["to"]) == ("a", "b")


def test_a_models_figures_are_fields_of_their_own() -> None:
    assert fields_of(UsageLogged(figures={"total_tokens": 3})) == {"total_tokens": 3}
