"""How a call is put together: the one place where its parts are joined.

What a call is given comes through `Parts` alone, so that each part can be watched, or another one
can stand in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.call.call import Call, CallLog
from gateway.call.caller_stream import ContinuousStream
from gateway.call.conversation.machine import Conversation
from gateway.call.course import Course
from gateway.call.hearing import Hearing
from gateway.call.saying import FixedLineBook
from gateway.call.senses import Echo, Taking, TurnStream, VoiceStream
from gateway.call.settings import ConversationSettings
from gateway.call.tool_runs import Toolbox
from gateway.call.track import Track
from gateway.events import Entry
from gateway.ports import Backend, BackendStart, BackendTraits, Leg
from media.echo import EchoReference
from media.frame import Samples
from media.recent import RecentSound
from turn.events import VoiceScored
from turn.taking import TurnSettings

UNKNOWN = BackendTraits()
"""What is assumed of a backend until it is made, a moment later."""

OpenVoice = Callable[[Callable[[VoiceScored], None]], VoiceStream]
OpenDetector = Callable[[RecentSound], TurnStream]


@dataclass(frozen=True, slots=True)
class Parts:
    """All that one call is made of."""

    leg: Leg
    conversation: ConversationSettings
    turns: TurnSettings
    taking: Taking
    "the turn-taking machine, made with `turns`"
    voice: OpenVoice
    detector: OpenDetector | None
    backend: Callable[[str], Backend]
    lines: FixedLineBook
    tools: Toolbox
    log: CallLog
    known: tuple[Entry, ...] = ()
    "what the model is told of the call before it begins"
    hints: tuple[str, ...] = ()
    track: Track | None = None
    may_place: Callable[[], bool] = lambda: True
    course: Course | None = None


def assemble(parts: Parts) -> Call:
    """Join the parts of a call; it runs once it is told to."""
    leg, info = parts.leg, parts.leg.info
    stream = ContinuousStream(info.rate, leg.behind)
    conversation = Conversation(info, parts.conversation, UNKNOWN, parts.known)
    hearing = Hearing(
        stream,
        parts.voice,
        None if parts.detector is None else parts.detector(stream.recent),
        parts.taking,
        echo=None if leg.cancels_echo else _echo(leg),
        fixed=parts.turns.profile.means == "silence",
    )

    def start(of: Conversation) -> BackendStart:
        return BackendStart(
            info,
            parts.conversation.instructions,
            parts.conversation.tools,
            of.state.history.entries(),
            parts.hints,
            of.state.speech.new_id,
            of.state.history.entries,
        )

    return Call(
        leg,
        conversation,
        hearing,
        stream,
        parts.backend,
        start,
        parts.lines,
        parts.tools,
        parts.log,
        parts.track,
        parts.may_place,
        parts.course,
    )


def _echo(leg: Leg) -> Callable[[Callable[[int, int], Samples]], Echo]:
    return lambda came: EchoReference(leg.playout.form, came)
