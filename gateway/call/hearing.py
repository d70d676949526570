"""How a call listens: sound to voice activity, voice to turn-taking, its questions to the models.

Runs on the loop and returns at once; the two questions turn-taking asks (is the caller done, what
were the words) run in the call's task group and come back as its inputs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import assert_never

from msgspec import structs

from gateway.call.caller_stream import ContinuousStream
from gateway.call.conversation.vocabulary import Event
from gateway.call.edges import Edges
from gateway.call.faults import Faults
from gateway.call.senses import Echo, Taking, TurnStream, VoiceStream
from gateway.events import CallerClaimed, CallerTurnEnded, ChooseProfile, KeepFloor
from gateway.plumbing.fence import is_stop
from media.frame import AudioFrame, Samples
from media.playout import Chunk
from turn.events import (
    AgentAsks,
    AgentBegan,
    AgentSilent,
    AskWords,
    AssessTurn,
    FloorClaimed,
    FloorKept,
    KeyPressed,
    OverlapBegan,
    OverlapDismissed,
    OverlapHeld,
    ProfileChosen,
    SpeechMoment,
    SpeechStarted,
    SpeechStopped,
    TurnAssessed,
    TurnDrafted,
    TurnDropped,
    TurnEnded,
    TurnInput,
    TurnOutput,
    TurnResumed,
    VoiceScored,
    WordsArrived,
)

UNLIKELY = 0.03
"""Probability below which a window is no voice, so that nobody asks whose it is."""


class Hearing:
    """Feeds turn-taking and passes on what it decides, with its place on the loop's clock."""

    def __init__(
        self,
        stream: ContinuousStream,
        voice: Callable[[Callable[[VoiceScored], None]], VoiceStream],
        turns: TurnStream | None,
        taking: Taking,
        echo: Callable[[Callable[[int, int], Samples]], Echo] | None = None,
        *,
        fixed: bool = False,
    ) -> None:
        """Listen to `stream`, of which the models are told by `feed`.

        `echo` is given where the caller's sound is to be found; `fixed`: the patience stays as it
        is, whatever the agent wishes.
        """
        self._stream = stream
        self._voice = voice(self.scored)
        self._turns = turns
        self._taking = taking
        self._echo = None if echo is None else echo(stream.recent.take)
        self._fixed = fixed
        self._edges = Edges(stream)
        self._post: Callable[[Event], None] = lambda event: None
        self._words: Callable[[int, int], Awaitable[str | None]] | None = None
        self._done: Callable[[int], float | None] = lambda at: None
        self._faults = Faults()
        self._group: asyncio.TaskGroup | None = None
        self._sounding = False
        self._reached = 0

    def begin(
        self,
        group: asyncio.TaskGroup,
        post: Callable[[Event], None],
        words: Callable[[int, int], Awaitable[str | None]],
        done: Callable[[int], float | None] = lambda at: None,
        faults: Faults | None = None,
    ) -> None:
        """Start to pass decisions on; questions run in `group`.

        `done` gives the recogniser's own judgement of a pause, where it has one; `faults`
        is told of models that fail, and while it is handled when something here raised.
        """
        self._group, self._post, self._words, self._done = group, post, words, done
        self._faults = faults or Faults()

    def close(self) -> None:
        """Let go of the models; later answers go nowhere."""
        self._group = None
        self._voice.close()
        if self._turns is not None:
            self._turns.close()
        # A call's parts know each other, so that the collector finds them late: the sound goes now.
        self._turns = self._echo = None
        self._stream.close()

    # --- what the call says ------------------------------------------------------------------

    def feed(self, frame: AudioFrame) -> None:
        """Take the caller's next sound, already in its place."""
        samples = frame.samples()
        self._voice.feed(samples)
        if self._turns is not None:
            self._turns.feed(samples)

    def key(self, key: str) -> None:
        """A key was pressed."""
        self._tell(KeyPressed(self._stream.end, key))

    def perform(self, effect: ChooseProfile | KeepFloor) -> None:
        """Tell turn-taking what the conversation wants of it."""
        match effect:
            case KeepFloor(kept=kept):
                self._tell(FloorKept(kept))
            case ChooseProfile(name=name, expects=expects):
                if not self._fixed:
                    self._tell(ProfileChosen(name))
                self._tell(SpeechMoment(expects))
            case _:
                assert_never(effect)

    def agent_sent(self, position: int, chunks: Sequence[Chunk]) -> None:
        """Sound left for the caller: what may come back as echo."""
        if self._echo is None:
            return
        for chunk in chunks:
            self._echo.sent(position, chunk.payload)
            position += chunk.end - chunk.start

    def agent_began(self, interruptible: bool) -> None:
        """The caller begins to hear an utterance."""
        self._sounding = True
        policy = "interruptible" if interruptible else "uninterruptible"
        self._tell(AgentBegan(self._reached, policy))  # type: ignore[arg-type]

    def agent_asks(self, asks: bool, text: str = "") -> None:
        """The caller has heard a question of the agent, or the agent has gone on from it."""
        self._tell(AgentAsks(self._reached, asks, text))

    def taken_back(self, position: int) -> None:
        """The far side forgot what it had not played."""
        if self._echo is not None:
            self._echo.cut(position)

    def agent_fell(self) -> None:
        """The caller has heard everything."""
        if self._sounding:
            self._sounding = False
            self._edges.free(self._reached)
            self._tell(AgentSilent(self._reached))

    # --- what the voice activity service says ----------------------------------------------------

    def scored(self, window: VoiceScored) -> None:
        """Take the judgement of a window; they come in order."""
        try:
            if window.fault or self._faults.failing:
                self._faults.note("voice_activity", window.fault)
            if self._echo is not None and window.probability >= UNLIKELY:
                window = self._with_echo(window, self._echo)
            self._reached = window.end
            self._tell(window)
        except BaseException:  # fence: the windows of other calls are handed out after this one's
            self._voice.close()  # more of this one's may be on their way
            self._faults.broke()

    def _with_echo(self, window: VoiceScored, reference: Echo) -> VoiceScored:
        echo = reference.score(window.start, window.end)
        if not echo:
            return window
        return structs.replace(window, echo=echo)

    # --- what turn-taking says -------------------------------------------------------------------

    def _tell(self, event: TurnInput) -> None:
        for output in self._taking.handle(event):
            self._act(output)

    def _act(self, output: TurnOutput) -> None:
        match output:
            case AssessTurn():
                self._ask(self._assess(output))
            case AskWords():
                self._ask(self._ask_words(output))
            case TurnEnded(start=start, end=end):
                began, last = self._edges.end(start, end, output.at)
                ended = replace(output, start=began)
                self._post(CallerTurnEnded(ended, self._stream.when(last)))
            case FloorClaimed(start=start):
                self._post(CallerClaimed(output, self._stream.when(start)))
            case SpeechStarted(start=start):
                start = self._edges.begin(start, sounding=self._sounding)
                self._post(replace(output, start=start))
            case TurnDropped(at=at):
                self._edges.drop(at)
                self._post(output)
            case TurnDrafted(start=start):
                self._post(replace(output, start=self._edges.beginning(start)))
            case (
                SpeechStopped()
                | TurnResumed()
                | OverlapBegan()
                | OverlapHeld()
                | OverlapDismissed()
            ):
                self._post(output)
            case _:
                assert_never(output)

    def _ask(self, question: Coroutine[None, None, None]) -> None:
        if self._group is not None:
            self._group.create_task(question)

    async def _assess(self, question: AssessTurn) -> None:
        if self._group is None:
            return
        if self._turns is None:
            self._tell(TurnAssessed(question.at, None))
            return
        due = (question.due - question.at) / self._stream.rate
        answer = await self._turns.assess(question.start, question.at, due)
        if answer.fault or answer.probability is not None:
            self._faults.note("turn_detector", answer.fault)
        advised = self._done(question.at)
        if advised is not None:  # two models that listen differently: their mean is the better one
            known = answer.probability
            belief = advised if known is None else (known + advised) / 2
            answer = replace(answer, probability=belief)
        if self._group is not None:
            self._tell(answer)

    async def _ask_words(self, question: AskWords) -> None:
        assert self._words is not None
        try:
            text = await self._words(question.start, question.end)
        except BaseException as raised:  # fence: words are evidence, not a need
            if is_stop(raised):
                raise
            text = None
        if self._group is not None:
            self._tell(WordsArrived(text, question.end))
