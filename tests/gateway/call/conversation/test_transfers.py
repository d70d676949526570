"""Whom a model may put callers through to, and what it is told where it may not."""

from __future__ import annotations

import pytest

from gateway.call.settings import ConversationSettings
from gateway.call.targets import Targets
from gateway.events import AnswerTool, Flush, TimePassed, ToolAsked, Transfer, TransferAsked
from gateway.tools.builtins import BUILTINS
from tests.support.playbook import Playbook, only, records

TARGETS = Targets({"desk": "+15550100", "Boss": "sip:boss@pbx.example.com"}, ("+4930123*",))
SETTINGS = ConversationSettings(tools=(BUILTINS["transfer"],), transfers=TARGETS)


def asked(target: object) -> tuple[Playbook, list[object]]:
    """Let the model ask for a transfer after its turn; give all that followed."""
    book = Playbook(SETTINGS)
    book.hear_line(book.start())
    respond = book.turn("somebody else please")
    before = len(book.effects)
    book.happens(ToolAsked(respond.reply, "a1", "transfer", {"target": target}))
    book.happens(TimePassed(), 0.1)
    book.happens(TimePassed(), 20.0)  # the longest that a last word is waited for, and more
    return book, book.effects[before:]  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("target", "to"),
    [
        ("desk", "+15550100"),
        ("Desk ", "+15550100"),
        ("+15550100", "+15550100"),
        ("boss", "sip:boss@pbx.example.com"),
        ("+49 30 123-45", "+493012345"),
    ],
)
def test_whom_the_file_allows_is_called(target: str, to: str) -> None:
    _, effects = asked(target)
    assert [one.target for one in only(effects, Transfer)] == [to]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "target",
    ["+19005550123", "sip:premium@evil.example", "", "the desk", "+4930123@evil.example", None, 7],
)
def test_nobody_else_is_and_the_model_is_told_whom_it_may_name(target: object) -> None:
    book, effects = asked(target)
    assert not only(effects, Transfer)  # type: ignore[arg-type]
    (told,) = only(effects, AnswerTool)  # type: ignore[arg-type]
    assert told.result["error"] == "not_allowed"
    assert "Boss, desk, +4930123*" in told.result["message"]
    assert told.proceed
    assert book.machine.state.end.phase == "open"
    (line,) = records(effects, "transfer_refused")  # type: ignore[arg-type]
    assert line["reason"] == "not in transfers"


def test_the_call_goes_on_after_it() -> None:
    book, _ = asked("+19005550123")
    assert book.turn("are you there?")


def test_an_operator_puts_callers_through_at_once_and_to_nobody_else() -> None:
    book = Playbook(SETTINGS)
    book.hear_line(book.start())
    respond = book.turn("somebody else please")
    book.reply(respond, "Well, let me see.", 3.0)
    refused = book.happens(TransferAsked("+15559999"))
    assert not only(refused, Transfer)
    (line,) = records(refused, "transfer_refused")
    assert line["reason"] == "not in transfers"
    effects = book.happens(TransferAsked("boss", "by ada"))
    assert only(effects, Flush)
    assert only(effects, Transfer) == [Transfer("sip:boss@pbx.example.com", "by ada")]
    assert not only(book.happens(TransferAsked("desk")), Transfer)
