"""Settings of recorded calls are changed by their names, and what cannot be is refused in words."""

from __future__ import annotations

import pytest

from gateway.call.settings import ConversationSettings
from gateway.events import CallInfo
from gateway.replay.records import FORMAT, Header
from gateway.replay.whatif.changes import ChangeError, applied, change, changeable, parse, value_in
from media.playout import Terms
from turn.taking import TurnSettings

HEAD = Header(
    FORMAT,
    "1",
    "CA1",
    "2026-01-01T00:00:00Z",
    "none",
    CallInfo("CA1", "twilio", ""),
    ConversationSettings(),
    TurnSettings(),
    "silero",
    True,
    Terms(800, None, 0.0, "acknowledged", None),
    False,
    False,
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("turn.profile", "found 'turn.profile', it must be NAME=VALUE"),
        ("turn.profile=slow", 'one of "quick", "default", "patient", "digits"'),
        ("turn.silence=soon", 'turn.silence: found "soon", it must be a number from 0.1 to 10'),
        ("turn.silence=99", "it must be a number from 0.1 to 10"),
        ("turn.vad=webrtc", "turn.vad cannot be changed in a recorded call: the recording holds"),
        ("call.tools=1", "call.tools cannot be changed in a recorded call"),
        ("turn.profil=quick", "no setting of turn-taking or of the call (turn.profile?)"),
        ("server.port=1", "no setting of turn-taking or of the call"),
        ("call.drafts=perhaps", 'call.drafts: found "perhaps", it must be true or false'),
    ],
)
def test_what_cannot_be_changed_is_refused_in_words(text: str, said: str) -> None:
    with pytest.raises(ChangeError) as refused:
        parse(text)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("turn.profile=patient", "patient"),
        ("turn.silence=0.7", 0.7),
        ("turn.profile.unsure=0.8", 0.8),
        ("turn.overlap.going_on=0.5", 0.5),
        ("turn.endpoint.weights.short=1.5", 1.5),
        ("call.drafts=false", False),
        ("call.filler_after=2", 2.0),
    ],
)
def test_a_change_is_in_the_call_and_reads_as_it_was_written(text: str, value: object) -> None:
    made = parse(text)
    assert str(made) == text
    assert value_in(applied(HEAD, [made]), made.name) == value


def test_every_setting_that_can_be_changed_has_a_value_in_a_recording() -> None:
    for name in changeable():
        value_in(HEAD, name)


def test_numbers_of_a_profile_hold_in_the_profile_that_is_chosen_with_them() -> None:
    changed = applied(HEAD, [parse("turn.profile=patient"), parse("turn.profile.most=6")])
    assert (changed.turns.profile.name, changed.turns.profile.most) == ("patient", 6.0)
    assert changed.conversation.profile == "patient"


def test_changes_that_contradict_each_other_are_refused() -> None:
    one, other = change("turn.profile", "quick"), change("turn.profile.unsure", "1.2")
    with pytest.raises(ChangeError, match="profile quick: waits must not fall"):
        applied(HEAD, [one, other])
