"""A backend made of three parts: recogniser, language model, voice.

One task per living reply: words, then tokens, then sound; each part starts on the first of what
the one before it gives. A drafted reply stops short of the voice until its turn is confirmed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

import structlog

from gateway.backends.cascade.choices.race import close
from gateway.backends.cascade.job import CascadeSettings, Drain, Job, Part, PartFailed
from gateway.backends.cascade.ports import (
    Expectation,
    LanguageModel,
    ModelRequest,
    ModelUsage,
    Recogniser,
    RecogniserStream,
    TextDelta,
    ToolDelta,
    Transcript,
    Voice,
)
from gateway.backends.cascade.recognisers.turn_judgement import TurnJudgement
from gateway.backends.cascade.recognisers.turn_words import TurnWords
from gateway.events import (
    AgentAudio,
    AnswerTool,
    BackendCommand,
    BackendLost,
    BackendReady,
    CallerWords,
    CancelReply,
    Disregard,
    Draft,
    DropDraft,
    Entry,
    Inform,
    Listen,
    ReplyEnded,
    ReplyExpects,
    ReplyText,
    Respond,
    ToolAsked,
    Truncate,
    UsageReported,
    UtteranceEnded,
)
from gateway.plumbing.fence import is_stop
from gateway.ports import BackendEvent, BackendStart, BackendTraits
from inference.errors import as_error, in_words
from media.frame import AudioFrame

EARLY_FRAMES = 500
"""Sound kept while the parts are still being opened: ten seconds, far more than that takes."""

TRAITS = BackendTraits(truncates=False)

__all__ = ["Cascade", "CascadeSettings"]

log = structlog.get_logger("cascade")

Emit = Callable[[BackendEvent], None]


class Cascade:
    """Runs replies for one call; decides nothing about turns."""

    def __init__(
        self,
        recogniser: Recogniser,
        model: LanguageModel,
        voice: Voice,
        settings: CascadeSettings | None = None,
        name: str = "cascade",
    ) -> None:
        drives = recogniser.drives
        self.traits = replace(TRAITS, owns_turns=drives, drafts=not drives)
        self._recogniser = recogniser
        self._model = model
        self._voice = voice
        self._settings = settings or CascadeSettings()
        self._name = name
        self._jobs: dict[int, Job] = {}
        self._group: asyncio.TaskGroup | None = None
        self._stream: RecogniserStream | None = None
        self._emit: Emit = lambda event: None
        self._start: BackendStart | None = None
        self._early: deque[AudioFrame] = deque(maxlen=EARLY_FRAMES)
        self._turn: TurnWords | None = None
        self._judgement = TurnJudgement()

    # --- the port ---------------------------------------------------------------------------

    async def run(self, start: BackendStart, emit: Emit) -> None:
        """Serve one call until cancelled."""
        self._start, self._emit = start, emit
        self._stream = self._recogniser.open(start.info.rate, start.hints, self._partial)
        while self._early:
            self._stream.feed(self._early.popleft())
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                serving = group.create_task(self._stream.serve())
                self._turn = TurnWords(self._stream, group, start.info.rate)
                emit(BackendReady(self._name))
                for job in tuple(self._jobs.values()):  # asked for before the parts were open
                    self._begin(job)
                try:
                    await asyncio.Event().wait()
                finally:
                    await self._stream.close()
                    serving.cancel()
        finally:
            self._group = self._turn = None

    def hear(self, frame: AudioFrame) -> None:
        """Pass the caller's sound to the recogniser."""
        if self._stream is not None:
            self._stream.feed(frame)
        else:
            self._early.append(frame)

    def perform(self, command: BackendCommand) -> None:
        """Begin what is asked."""
        match command:
            case Draft():
                self._begin(
                    Job(command.reply, command.turn, command.start, command.end, command.history)
                )
            case Respond():
                self._respond(command)
            case CancelReply(reply=reply) | DropDraft(reply=reply):
                self._cancel(reply)
            case AnswerTool():
                job = self._jobs.get(command.reply)
                if job is not None and not job.answers.full():
                    job.answers.put_nowait(command)
            case Listen(start=start):
                if self._turn is not None:
                    self._turn.begin(start)
            case Disregard() | Truncate() | Inform():
                pass  # the history in the next request says all of it
            case _:
                assert_never(command)

    async def words(self, start: int, end: int) -> str | None:
        """Return the words of a stretch of the caller's sound, for turn-taking.

        They are kept: when the turn is found to have ended there, its transcript is ready.
        """
        if self._turn is None:
            return None
        return (await self._turn.upto(end)).text

    def done(self, at: int) -> float | None:
        """Return the recogniser's own probability that the caller was done at `at`, or None."""
        rate = self._start.info.rate if self._start is not None else 0
        return self._judgement.done(at, rate)

    def _partial(self, heard: Transcript) -> None:
        """Keep what a recogniser that judges turns says; where it decides, pass it on."""
        decided = self._judgement.hear(heard)
        if self.traits.owns_turns:
            for event in decided:
                self._emit(event)

    # --- replies ----------------------------------------------------------------------------

    def _begin(self, job: Job) -> None:
        self._jobs[job.reply] = job
        if self._group is not None:
            job.task = self._group.create_task(self._serve(job))

    def _respond(self, command: Respond) -> None:
        job = self._jobs.get(command.reply)
        if job is None:
            job = Job(
                command.reply,
                command.turn,
                command.start,
                command.end,
                command.history,
                text=command.text,
                again=command.again,
            )
            if self.traits.owns_turns and not command.again:
                job.text = job.text or self._judgement.ended
            job.utterance = command.utterance
            job.confirmed.set()
            self._begin(job)
            return
        job.utterance = command.utterance
        job.confirmed.set()

    def _cancel(self, reply: int) -> None:
        job = self._jobs.pop(reply, None)
        if job is None:
            return
        if job.task is not None:
            job.task.cancel()

    async def _serve(self, job: Job) -> None:
        try:
            await self._reply(job)
        except* PartFailed as failures:
            failure = _first(failures)
            self._emit(BackendLost(failure.reason, part=failure.part, reply=job.reply, fatal=False))
        finally:
            self._jobs.pop(job.reply, None)

    async def _reply(self, job: Job) -> None:
        history = job.history
        if not job.again:
            text = job.text or await self._transcribe(job)
            self._emit(CallerWords(job.turn, text, final=True))
            if not text:
                self._emit(ReplyEnded(job.reply))
                return
            history = (*history, Entry("caller", text))
        while True:
            asked = await self._generate(job, history)
            if not asked:
                break
            answer = await job.answers.get()
            while not (answer.proceed or answer.ends):
                answer = await job.answers.get()
            if answer.ends:
                break
            history = answer.history
            job.utterance = answer.utterance or job.utterance
        self._emit(ReplyEnded(job.reply))

    async def _transcribe(self, job: Job) -> str:
        assert self._turn is not None
        try:
            async with asyncio.timeout(self._settings.transcript_seconds):
                found = await self._turn.between(job.start, job.end)
        except TimeoutError as late:
            raise PartFailed("recogniser", "no transcript in time") from late
        except OSError as broken:
            raise PartFailed("recogniser", str(broken)) from broken
        except BaseException as raised:  # fence: whatever a part raises is its failure
            if is_stop(raised):
                raise
            raise _failed("recogniser", raised) from raised
        return found.text.strip()

    # --- one round of the model, spoken as it comes --------------------------------------------

    async def _generate(self, job: Job, history: tuple[Entry, ...]) -> int:
        """Speak one answer of the model; give the number of tools it asked for."""
        tokens: asyncio.Queue[str | None] = asyncio.Queue(256)
        async with asyncio.TaskGroup() as group:
            speaking = group.create_task(self._speak(job, tokens))
            try:
                asked = await self._think(job, history, tokens)
            except PartFailed:
                speaking.cancel()
                raise
        return asked

    async def _think(
        self, job: Job, history: tuple[Entry, ...], tokens: asyncio.Queue[str | None]
    ) -> int:
        assert self._start is not None
        request = ModelRequest(
            self._start.info.call_id,
            self._start.instructions,
            history,
            self._start.tools,
            "confirmed" if job.confirmed.is_set() else "draft",
            self._start.info.variables,
        )
        asked = 0
        stream = self._model.stream(request)
        limit = self._settings.first_token_seconds
        try:
            while True:
                async with asyncio.timeout(limit):
                    event = await anext(stream, None)
                if event is None:
                    break
                limit = self._settings.token_seconds
                match event:
                    case TextDelta(text=text):
                        self._emit(ReplyText(job.reply, job.utterance, text))
                        await tokens.put(text)
                    case ToolDelta():
                        asked += 1
                        self._emit(ToolAsked(job.reply, event.ask, event.name, event.arguments))
                    case ModelUsage(figures=figures):
                        self._emit(UsageReported(dict(figures)))
                    case Expectation():
                        self._emit(ReplyExpects(job.reply, event.expects, event.profile))
                    case _:
                        assert_never(event)
        except TimeoutError as late:
            raise PartFailed("model", "no token in time") from late
        except OSError as broken:
            raise PartFailed("model", str(broken)) from broken
        except BaseException as raised:  # fence: whatever a part raises is its failure
            if is_stop(raised):
                raise
            raise _failed("model", raised) from raised
        finally:
            await close(stream)
        await tokens.put(None)
        return asked

    async def _speak(self, job: Job, tokens: asyncio.Queue[str | None]) -> None:
        """Give the tokens to the voice, and its sound to the call once the turn is confirmed."""
        assert self._start is not None
        rate = self._start.info.rate
        if not self._settings.draft_voice:
            await job.confirmed.wait()
        spoken: list[str] = []
        samples = 0
        drain = Drain(tokens)
        sound = self._voice.speak(drain, rate)
        try:
            while True:
                chunk = await drain.sound(sound, self._settings.voice_seconds)
                if chunk is None:
                    break
                await job.confirmed.wait()
                offset = samples / rate
                words = tuple(
                    replace(w, start=w.start + offset, end=w.end + offset) for w in chunk.words
                )
                self._emit(AgentAudio(job.reply, job.utterance, chunk.pcm, words))
                samples += len(chunk.pcm) // 2
                spoken.append(chunk.text)
        except (OSError, TimeoutError) as broken:
            raise PartFailed("voice", str(broken) or "no sound in time") from broken
        except BaseException as raised:  # fence: whatever a part raises is its failure
            if is_stop(raised):
                raise
            raise _failed("voice", raised) from raised
        finally:
            await close(sound)
        if samples:
            text = "".join(spoken)
            self._emit(UtteranceEnded(job.reply, job.utterance, text))


def _failed(part: Part, raised: BaseException) -> PartFailed:
    log.error("part_broke", part=part, exc_info=raised)
    return PartFailed(part, in_words(as_error(raised)))


def _first(failures: ExceptionGroup[PartFailed]) -> PartFailed:
    """Return the first failure of a group; what followed it is its consequence."""
    failure = failures.exceptions[0]
    return _first(failure) if isinstance(failure, ExceptionGroup) else failure
