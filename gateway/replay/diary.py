"""Keeps the journals of a process's calls: what `recording.journal` asks for."""

from __future__ import annotations

import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import structlog

from gateway.call.assembly import Parts
from gateway.config import Settings, secrets
from gateway.log_events import FaultLogged
from gateway.observe.journal import CallLog, timestamp
from gateway.replay.file import SUFFIX
from gateway.replay.records import FORMAT, Header, Record, form_of, slim
from gateway.replay.taps import Notes, RoundClock, tapped
from gateway.replay.veil import Veil
from gateway.replay.writer import JournalWriter

log = structlog.get_logger("diary")


def as_file(call: str) -> str:
    """Return what the files of a call are called."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in call)


class Diary:
    """Begins a journal for each call; one for the process."""

    def __init__(self, settings: Settings) -> None:
        mask = "none" if settings.recording.journal_hidden else settings.log.mask
        self._settings = settings
        self._veil = Veil(mask, secrets(settings).values())
        self._writer = JournalWriter()

    def keep(self, parts: Parts, call_log: CallLog) -> Parts:
        """Return the same parts, watched for the journal of their call."""
        path = Path(self._settings.recording.folder) / f"{as_file(call_log.call)}{SUFFIX}"

        def told(reason: str) -> None:
            """Tell of it on the writer's thread: the log takes lines from any."""
            call_log.write(FaultLogged(part="journal", reason=reason))
            log.warning("journal_failed", call_id=parts.leg.info.call_id, reason=reason)

        header = header_of(parts, call_log.call, self._settings.turn.vad, self._veil)
        form, veil = form_of(parts.leg.info), self._veil

        def prepared(record: Record) -> Record:
            return veil.record(slim(record, form))

        group_reads = self._settings.recording.group_reads
        file = self._writer.open(path, header, prepared, told, group_reads)
        clock = RoundClock()
        return tapped(parts, Notes(file.note, clock), clock)

    def close(self) -> None:
        """Write what waits."""
        self._writer.close()


def header_of(parts: Parts, call: str, vad: str, veil: Veil) -> Header:
    """Return what a call is made of."""
    leg = parts.leg
    return Header(
        format=FORMAT,
        version=own_version(),
        call=call,
        began=timestamp(time.time()),
        mask=veil.mask,
        info=veil.info(leg.info),
        conversation=parts.conversation,
        turns=parts.turns,
        vad=vad,
        detector=parts.detector is not None,
        terms=leg.playout.terms,
        clocked=leg.clocked,
        cancels_echo=leg.cancels_echo,
        known=veil.entries(parts.known),
        hints=parts.hints,
        recording=None if parts.track is None else parts.track.name,
    )


def own_version() -> str:
    """Return the version of this gateway."""
    try:
        return version("parley")
    except PackageNotFoundError:
        return "unknown"
