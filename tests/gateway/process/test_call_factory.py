"""How a call is put together: what of it depends on the line and on the agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.call.settings import ConversationSettings
from gateway.config import RecordingSettings
from gateway.doors.allowance import Allowance
from gateway.events import CallInfo
from gateway.observe.journal import Journal
from gateway.observe.settings import LogSettings
from gateway.process.call_factory import CallFactory
from gateway.process.ready_agent import ReadyAgent
from tests.support.cascade_call import FakeLeg, LineBook, Silent, Tools
from turn.taking import TurnSettings


class Desk:
    """One agent, whoever is asked for."""

    def __init__(self) -> None:
        self.agent = ReadyAgent(
            ConversationSettings(),
            TurnSettings(),
            lambda name: Silent(),
            lambda info, page: Tools(),
            LineBook(),
        )

    def knows(self, agent: str) -> bool:
        return True

    def engage(self, agent: str) -> ReadyAgent:
        return self.agent


class Unheard:
    """In the place of a voice activity model: nothing is judged."""

    def open(self, rate: int, hear: Any = None, start: int = 0) -> Any:
        return self

    def feed(self, samples: Any) -> None: ...

    def close(self) -> None: ...

    def attend(self) -> None: ...

    def score_pending(self) -> None: ...


@pytest.mark.parametrize("cancels", [False, True])
async def test_echo_is_listened_for_where_the_line_does_not_cancel_it(
    cancels: bool, tmp_path: Path
) -> None:
    """A telephone sends our own sound back; a browser takes it out by itself."""
    leg = FakeLeg(CallInfo("c1", "any", "test"))
    leg.cancels_echo = cancels
    with Journal(LogSettings(str(tmp_path / "calls.jsonl"))) as journal:
        factory = CallFactory(
            Desk(), Unheard(), None, journal, RecordingSettings(), None, Allowance(1)
        )
        hearing = factory.make(leg)._hearing
    assert (hearing._echo is not None) is not cancels
