"""What a journal holds: all that came into a call, in order, and what the call did about it.

A record is an array: its kind, the loop's time, and what happened.
Kinds that begin with a capital came in and are given again; `did` is what must follow from them.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal

import msgspec

from gateway.call.settings import ConversationSettings
from gateway.events import AnswerTool, BackendCommand, CallInfo, Draft, Entry, Respond, Word
from gateway.plumbing.wire_json import plain
from media.codec import WireForm, wire_form
from media.playout import Chunk, Terms
from turn.taking import TurnSettings

FORMAT = 1
"""Of the records below; a journal of another one is not read."""


class Header(msgspec.Struct, frozen=True):
    """What the call was made of; the first record of every journal."""

    format: int
    version: str
    "of the gateway"
    call: str
    "what it is called in the log"
    began: str
    "RFC 3339, UTC"
    mask: Literal["none", "partial", "full"]
    "what was hidden of what is personal"
    info: CallInfo
    conversation: ConversationSettings
    turns: TurnSettings
    vad: str
    detector: bool
    "the turn detector was asked"
    terms: Terms
    clocked: bool
    cancels_echo: bool
    known: tuple[Entry, ...] = ()
    hints: tuple[str, ...] = ()
    recording: str | None = None


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=True):
    """Anything that stands in a journal after its head."""

    t: float
    "loop seconds"


class Sound(Record, frozen=True, tag="Sound"):
    """The caller's next frame."""

    start: int
    pcm: bytes
    "empty where it is what `payload` decodes to"
    payload: bytes
    codec: str
    inside: bool = False
    "it came while its port was asked for something, not by itself; so too below"


class Line(Record, frozen=True, tag="Line"):
    """Anything else that happened on the leg."""

    kind: str
    fields: dict[str, Any]
    inside: bool = False


class Far(Record, frozen=True, tag="Far"):
    """What the far side, or the line about it, told the ledger."""

    what: str
    values: tuple[float | None, ...]
    basis: str
    inside: bool = False


class Behind(Record, frozen=True, tag="Behind"):
    """From its so-manieth answer on, the line said that sound comes so much late."""

    read: int
    seconds: float


class Beat(Record, frozen=True, tag="Beat"):
    """The pacer's tick, where there was something to do."""

    part: Literal["send", "tick"]
    now: float


class Asked(Record, frozen=True, tag="Asked"):
    """The operator's side ended the call."""

    line: str
    reason: str


class PutThrough(Record, frozen=True, tag="PutThrough"):
    """The operator's side puts the caller through."""

    target: str
    summary: str


class Voice(Record, frozen=True, tag="Voice"):
    """A window of the caller's sound was judged."""

    start: int
    end: int
    probability: float
    level: float
    fault: str


class Judged(Record, frozen=True, tag="Judged"):
    """The turn detector answered."""

    start: int
    at: int
    probability: float | None
    queue: float
    model: float
    fault: str
    asked: float
    "when it was asked, loop seconds; so too below"


class Advised(Record, frozen=True, tag="Advised"):
    """The backend's own judgement of a pause was read."""

    at: int
    probability: float | None


class Words(Record, frozen=True, tag="Words"):
    """The backend gave the words of a stretch of sound."""

    start: int
    end: int
    text: str | None
    failure: str
    asked: float


class Opened(Record, frozen=True, tag="Opened"):
    """A backend was made."""

    name: str
    traits: dict[str, bool | float | None]


class Said(Record, frozen=True, tag="Said"):
    """The backend told something."""

    kind: str
    fields: dict[str, Any]
    inside: bool = False


class Ready(Record, frozen=True, tag="Ready"):
    """A fixed line was looked up; without sound, it was not there yet."""

    text: str
    pcm: bytes | None
    words: tuple[Word, ...]


class Rendered(Record, frozen=True, tag="Rendered"):
    """A fixed line was made."""

    text: str
    pcm: bytes
    words: tuple[Word, ...]
    failure: str
    asked: float


class Tool(Record, frozen=True, tag="Tool"):
    """A tool came back."""

    ask: str
    name: str
    result: dict[str, Any]
    outcome: str
    asked: float


class Place(Record, frozen=True, tag="Place"):
    """It was asked whether one more call may be placed."""

    allowed: bool


Channel = Literal["turn", "told", "backend", "leg", "sent", "log", "deed"]


class Did(Record, frozen=True, tag="did"):
    """The call did something: what must be the same when it is run again."""

    channel: Channel
    """`turn`: what turn-taking decided; `told`: what the conversation learnt of it and of the
    ledger; `backend`, `leg`: what was asked of them; `sent`: frames that left; `log`: lines of the
    call log; `deed`: those of its writes, which run beside the rest"""
    name: str
    fields: dict[str, Any]


class Lost(Record, frozen=True, tag="lost"):
    """From here on the journal holds nothing: more came than the disk took."""


class Closed(Record, frozen=True, tag="closed"):
    """The call was over; a journal that does not end so was cut."""


AnyRecord = (
    Sound
    | Line
    | Far
    | Behind
    | Beat
    | Asked
    | PutThrough
    | Voice
    | Judged
    | Advised
    | Words
    | Opened
    | Said
    | Ready
    | Rendered
    | Tool
    | Place
    | Did
    | Lost
    | Closed
)

_HEADS = msgspec.msgpack.Decoder(Header)
_RECORDS: msgspec.msgpack.Decoder[AnyRecord] = msgspec.msgpack.Decoder(AnyRecord)
_WRITER = msgspec.msgpack.Encoder(enc_hook=plain)


def encode(record: Record | Header) -> bytes:
    """Write a record."""
    return _WRITER.encode(record)


def decode_header(data: bytes) -> Header:
    """Read the first record; raises ValueError."""
    return _HEADS.decode(data)


def decode(data: bytes) -> AnyRecord:
    """Read any other record; raises ValueError."""
    return _RECORDS.decode(data)


def taken_apart(thing: object) -> dict[str, Any]:
    """Return the fields of an event or a command; those that it leaves out have their default."""
    if is_dataclass(thing):
        return {each.name: _inner(getattr(thing, each.name)) for each in fields(thing)}
    found: dict[str, Any] = msgspec.to_builtins(thing, enc_hook=plain, builtin_types=(bytes,))
    return found


def _inner(value: object) -> Any:
    return msgspec.to_builtins(value, enc_hook=plain, str_keys=True, builtin_types=(bytes,))


def command_apart(command: BackendCommand) -> dict[str, Any]:
    """Return the fields of a command; of a history, its length and a sum of it."""
    match command:
        case Draft() | Respond() | AnswerTool():
            history = command.history
            found = taken_apart(replace(command, history=()))
            found["history"] = [len(history), zlib.crc32(_WRITER.encode(history))]
            return found
        case _:
            return taken_apart(command)


def chunks_apart(chunks: list[Chunk]) -> dict[str, Any]:
    """Return what left in one go: of each frame whose it is, where it lies, and a sum of it."""
    return {
        "chunks": [
            [each.utterance, each.generation, each.start, each.end, zlib.crc32(each.payload)]
            for each in chunks
        ]
    }


def slim(record: Record, form: WireForm) -> Record:
    """Leave out of a frame what its payload says too."""
    if isinstance(record, Sound) and record.payload and form.decode(record.payload) == record.pcm:
        return msgspec.structs.replace(record, pcm=b"")
    return record


def form_of(info: CallInfo) -> WireForm:
    """Return the form in which a line's sound is kept."""
    return wire_form(info.codec if info.codec in ("pcmu", "pcma") else "l16", info.rate)


def event_of(kinds: Mapping[str, type[Any]], kind: str, values: Mapping[str, Any]) -> Any:
    """Make an event again of its kind and fields; raises ValueError."""
    if kind not in kinds:
        raise ValueError(f"there is no event {kind!r}; there are: {', '.join(sorted(kinds))}")
    return msgspec.convert(values, kinds[kind])
