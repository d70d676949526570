"""Makes calls: joins a leg to an agent, with ears, a voice, tools, a log and a recording."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import structlog

from gateway.call.call import Call
from gateway.call.caller_stream import ContinuousStream
from gateway.call.conversation.machine import Conversation
from gateway.call.hearing import Hearing
from gateway.call.senses import Echo, VoiceStream
from gateway.call.track import Track
from gateway.config import RecordingSettings
from gateway.doors.allowance import Allowance
from gateway.log_events import FaultLogged, RecoveredLogged
from gateway.observe.journal import CallLog, Journal
from gateway.ports import BackendStart, BackendTraits, Leg
from gateway.process.ready_agent import Agents
from media.echo import EchoReference
from media.frame import Samples
from media.recording import Recorder
from turn.events import VoiceScored
from turn.semantic import TurnAssessor
from turn.taking import TurnTaking
from turn.vad import Voices

log = structlog.get_logger("exchange")

UNKNOWN = BackendTraits()
"""What is assumed of a backend until it is made, a moment later."""


class CallFactory:
    """Puts a call together; one for the process."""

    def __init__(
        self,
        staff: Agents,
        voices: Voices,
        assessor: TurnAssessor | None,
        journal: Journal,
        recording: RecordingSettings,
        recorder: Recorder | None,
        allowance: Allowance,
    ) -> None:
        self._staff = staff
        self._voices = voices
        self._assessor = assessor
        self._journal = journal
        self._recording = recording
        self._recorder = recorder
        self._allowance = allowance

    def make(self, leg: Leg) -> Call:
        """Make the call of a leg that was just answered."""
        info = leg.info
        engaged = self._staff.engage(info.agent)
        stream = ContinuousStream(info.rate, leg.behind)
        note = engaged.note(info)
        known = () if note is None else (note,)
        conversation = Conversation(info, engaged.conversation, UNKNOWN, known)
        assessor = self._assessor if engaged.turns.profile.means != "silence" else None
        hearing = Hearing(
            stream,
            self._open_voice(info.rate),
            assessor.open(info.rate, stream.recent) if assessor is not None else None,
            TurnTaking(info.rate, engaged.turns),
            echo=None if leg.cancels_echo else self._echo(leg),
            fixed=engaged.turns.profile.means == "silence",
        )

        def start(of: Conversation) -> BackendStart:
            return BackendStart(
                info,
                engaged.conversation.instructions,
                engaged.conversation.tools,
                of.state.history.entries(),
                engaged.hints,
                of.state.speech.new_id,
                of.state.history.entries,
            )

        now = asyncio.get_running_loop().time()
        call_log = self._journal.bind(info.call_id, now)
        return Call(
            leg,
            conversation,
            hearing,
            stream,
            engaged.backend,
            start,
            engaged.lines,
            engaged.tools(info, leg.page),
            call_log,
            self._track(leg, call_log),
            self._may_place,
        )

    def _may_place(self) -> bool:
        return self._allowance.take(asyncio.get_running_loop().time())

    def _open_voice(self, rate: int) -> Callable[[Callable[[VoiceScored], None]], VoiceStream]:
        return lambda hear: self._voices.open(rate, hear)

    def _echo(self, leg: Leg) -> Callable[[Callable[[int, int], Samples]], Echo]:
        return lambda came: EchoReference(leg.playout.form, came)

    def _track(self, leg: Leg, call_log: CallLog) -> Track | None:
        if self._recorder is None or not self._recording.enabled:
            return None
        name = "".join(c if c.isalnum() or c in "-_." else "_" for c in call_log.call)
        path = Path(self._recording.folder) / f"{name}.wav"

        def told(reason: str) -> None:
            """Tell of it on the recorder's thread: the log takes lines from any."""
            if not reason:
                call_log.write(RecoveredLogged(part="recording"))
                return
            call_log.write(FaultLogged(part="recording", reason=reason))
            log.warning("recording_failed", call_id=leg.info.call_id, reason=reason)

        group_reads = self._recording.group_reads
        file = self._recorder.open(path, leg.info.rate, told, group_reads)
        return Track(file, leg.playout.form, path.name)
