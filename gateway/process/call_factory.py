"""Makes calls: joins a leg to an agent, with ears, a voice, tools, a log and a recording."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import structlog

from gateway.call.assembly import Parts, assemble
from gateway.call.call import Call
from gateway.call.senses import VoiceStream
from gateway.call.track import Track
from gateway.config import RecordingSettings
from gateway.doors.allowance import Allowance
from gateway.log_events import FaultLogged, RecoveredLogged
from gateway.observe.journal import CallLog, Journal
from gateway.ports import Leg
from gateway.process.ready_agent import Agents
from gateway.replay.diary import Diary, as_file
from media.recording import Recorder
from turn.events import VoiceScored
from turn.semantic import TurnAssessor
from turn.taking import TurnTaking
from turn.vad import Voices

log = structlog.get_logger("exchange")


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
        diary: Diary | None = None,
    ) -> None:
        """`diary` keeps what is needed to run a call again."""
        self._staff = staff
        self._voices = voices
        self._assessor = assessor
        self._journal = journal
        self._recording = recording
        self._recorder = recorder
        self._allowance = allowance
        self._diary = diary

    def make(self, leg: Leg) -> Call:
        """Make the call of a leg that was just answered."""
        info = leg.info
        engaged = self._staff.engage(info.agent)
        note = engaged.note(info)
        assessor = self._assessor if engaged.turns.profile.means != "silence" else None
        call_log = self._journal.bind(info.call_id, asyncio.get_running_loop().time())
        parts = Parts(
            leg,
            engaged.conversation,
            engaged.turns,
            TurnTaking(info.rate, engaged.turns),
            self._open_voice(info.rate),
            None if assessor is None else partial(assessor.open, info.rate),
            engaged.backend,
            engaged.lines,
            engaged.tools(info, leg.page),
            call_log,
            () if note is None else (note,),
            engaged.hints,
            self._track(leg, call_log),
            self._may_place,
        )
        if self._diary is not None:
            parts = self._diary.keep(parts, call_log)
        return assemble(parts)

    def _may_place(self) -> bool:
        return self._allowance.take(asyncio.get_running_loop().time())

    def _open_voice(self, rate: int) -> Callable[[Callable[[VoiceScored], None]], VoiceStream]:
        return lambda hear: self._voices.open(rate, hear)

    def _track(self, leg: Leg, call_log: CallLog) -> Track | None:
        if self._recorder is None or not self._recording.enabled:
            return None
        path = Path(self._recording.folder) / f"{as_file(call_log.call)}.wav"

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
