"""A telephone call over Twilio's socket to models of one's choice: who said what, heard when.

Hearing, turn-taking, conversation, backend, playout, line and socket are real. Stood in for are
voice activity (loud is a voice) and the turn detector (a pause is the end). Each fixed line, and
each model's voice, is a level of its own, so that the far end knows what it hears.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import numpy as np
from websockets.exceptions import ConnectionClosed

from gateway.call.caller_stream import ContinuousStream
from gateway.call.conversation.machine import Conversation
from gateway.call.hearing import Hearing
from gateway.call.pacer import Pacer
from gateway.call.senses import VoiceStream
from gateway.call.settings import ConversationSettings, FixedLines
from gateway.events import Entry
from gateway.log_events import CallFailedLogged, CallRefusedLogged
from gateway.ports import Backend, BackendStart, BackendTraits, Free, Leg, Refusal, no_place
from gateway.scenarios.sound_parts import ToneVoice
from media.codec import WireForm
from media.frame import Samples
from tests.gateway.lines.twilio.harness import far_end, serving
from tests.support.cascade_call import Log, RenderedLine, Tools, WatchedCall
from tests.support.telephone import SILENCE, Telephone
from turn.events import TurnAssessed, VoiceScored
from turn.taking import TurnTaking

LINES = FixedLines(
    greeting="",
    filler="One moment, please.",
    apology="I am sorry, I have trouble.",
    again="Could you say that again?",
    still_there="Are you still there?",
    goodbye="Goodbye.",
)
VOICE = bytes([0x10, 0x90] * 80)
"""A frame of the caller's voice."""

LINE_SECONDS = 0.8
FORM = WireForm("pcmu", 8000, 1)


def line_level(text: str) -> int:
    """Return the sample that a fixed line is made of."""
    return 900 + 400 * LINES.all().index(text)


class Sure:
    """In the place of the turn detector: who pauses is done."""

    def feed(self, samples: Samples) -> None: ...

    async def assess(self, start: int, at: int, due_seconds: float) -> TurnAssessed:
        return TurnAssessed(at, 0.97)

    def close(self) -> None: ...


class Book:
    """Fixed lines, each a level of its own."""

    def ready(self, text: str, rate: int) -> RenderedLine:
        return RenderedLine(np.full(int(LINE_SECONDS * rate), line_level(text), "<i2").tobytes())

    async def render(self, text: str, rate: int) -> RenderedLine:
        return self.ready(text, rate)


@dataclass
class PhoneCall:
    """One call, and the person who makes it."""

    telephone: Telephone
    call: WatchedCall
    log: Log
    tools: Tools
    names: dict[int, str]
    "what is heard, by its byte on the wire"
    fell_silent: float = 0.0
    "when the caller's last word was over"

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    async def says(self, seconds: float = 1.0) -> None:
        """Speak, and fall silent."""
        self.telephone.said = VOICE
        await asyncio.sleep(seconds)
        self.telephone.said = SILENCE
        self.fell_silent = self.now()

    def heard(self, since: float = 0.0) -> list[tuple[str, float, float]]:
        """List what was heard after a moment: what, from when, until when."""
        spells: list[tuple[str, float, float]] = []
        for began, payload in self.telephone.started:
            byte = Counter(payload).most_common(1)[0][0]
            name = self.names.get(byte, "" if byte & 0x7F >= 0x7E else f"{byte:#x}")
            ends = began + len(payload) / 8000
            if not name or ends <= since:
                continue
            if spells and spells[-1][0] == name and began - spells[-1][2] < 0.1:
                spells[-1] = (name, spells[-1][1], ends)
            else:
                spells.append((name, began, ends))
        return spells

    def said(self, since: float = 0.0) -> list[str]:
        """Name what was heard, in order."""
        return [name for name, _, _ in self.heard(since)]

    def longest_silence(self, until: str = "") -> float:
        """Return the longest wait for a word since the caller's last one, up to what is named."""
        longest, since = 0.0, self.fell_silent
        for name, began, ended in self.heard(self.fell_silent):
            longest, since = max(longest, began - since), ended
            if name == until:
                return longest
        assert not until, f"{until} was never heard: {self.heard(self.fell_silent)}"
        return max(longest, self.now() - since)

    def waited_for(self, name: str) -> float:
        """Return the seconds from the caller's last word to the first of what is named."""
        spells = self.heard(self.fell_silent)
        return next(began for one, began, _ in spells if one == name) - self.fell_silent

    def history(self) -> list[Entry]:
        """What the conversation knows was said."""
        return list(self.call.conversation.state.history.entries())

    def faults(self) -> list[str]:
        """Return what the log names as broken."""
        return [f"{line['part']}: {line['reason']}" for line in self.log.of("fault")]


@dataclass
class _Answer:
    """Puts the one call on the line through to the models."""

    backends: Callable[[str], Backend]
    settings: ConversationSettings
    group: asyncio.TaskGroup
    hints: Sequence[str] = ()
    pacer: Pacer = field(default_factory=Pacer)
    log: Log = field(default_factory=Log)
    tools: Tools = field(default_factory=Tools)
    call: WatchedCall | None = None

    def admit(self, agent: str) -> Refusal | None:
        return None

    def take(self) -> Free:
        return no_place

    def knows(self, agent: str) -> bool:
        return True

    def missed(self, call: CallRefusedLogged | CallFailedLogged) -> None:
        raise AssertionError(call)

    def begin(self, leg: Leg) -> None:
        info = leg.info
        stream = ContinuousStream(info.rate, leg.behind)
        conversation = Conversation(info, self.settings, BackendTraits())

        def voice(hear: Callable[[VoiceScored], None]) -> VoiceStream:
            return ToneVoice(info.rate, hear)

        def start(of: Conversation) -> BackendStart:
            entries, new_id = of.state.history.entries, of.state.speech.new_id
            tools = self.settings.tools
            return BackendStart(info, "Be kind.", tools, entries(), (), new_id, entries)

        call = self.call = WatchedCall(
            leg,
            conversation,
            Hearing(stream, voice, Sure(), TurnTaking(info.rate)),
            stream,
            self.backends,
            start,
            Book(),
            self.tools,
            self.log,
        )
        call.watch()
        self.group.create_task(self._run(call))

    async def _run(self, call: WatchedCall) -> None:
        self.pacer.add(call)
        try:
            await call.run()
        finally:
            self.pacer.remove(call)


@asynccontextmanager
async def phone_call(
    backends: Callable[[str], Backend], voices: dict[int, str], **settings: object
) -> AsyncIterator[PhoneCall]:
    """Hold a call; `voices` names what the models' sound is, by its byte on the wire."""
    names = {FORM.encode(np.array([line_level(t)], "<i2").tobytes())[0]: t for t in LINES.all()}
    assert not names.keys() & voices.keys()
    plain = ConversationSettings(lines=LINES, idle_seconds=1e6, drafts=False)
    async with asyncio.TaskGroup() as group:
        answer = _Answer(backends, replace(plain, **settings), group)  # type: ignore[arg-type]
        async with (
            serving(answer=answer) as served,  # type: ignore[arg-type]
            far_end(served) as far,
        ):
            answer.pacer.start()
            telephone = Telephone(far)
            await far.start()
            tasks = [group.create_task(telephone.listen()), group.create_task(telephone.speak())]
            await asyncio.sleep(0.5)
            assert answer.call is not None
            try:
                yield PhoneCall(telephone, answer.call, answer.log, answer.tools, names | voices)
            finally:
                for task in tasks:
                    task.cancel()
                try:
                    await far.send({"event": "stop", "streamSid": "MZ0a", "stop": {}})
                except ConnectionClosed:
                    pass  # the agent has hung up
                await asyncio.sleep(1)
        answer.pacer.stop()
