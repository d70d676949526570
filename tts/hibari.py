"""The embedded voice: hibari, American English, 24 kHz, a clause at a time, with word times.

Its network predicts a spectrum and how long each phoneme lasts; the package's own signal processing
makes the waveform. Both the pronunciation and that processing are imported from the verified files
of the model cache, and the network runs in the one runtime.
"""

from __future__ import annotations

import importlib
import json
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from inference import find
from inference.graph import with_output
from inference.runtime import Runtime, Session
from tts.plain import Piece, normalise

Floats = npt.NDArray[np.float32]

RATE = 24000
"""hibari: samples per second."""

DURATIONS = "/Clip_output_0"
"""Tensor inside the graph: how long each phoneme lasts, in units of `UNIT_SECONDS`."""

UNIT_SECONDS = 0.025
"""hibari: two frames of 12.5 ms; the durations of a clause sum to the length of its sound."""

LONGEST_PHONEMES = 400
"""hibari: what the network was trained on."""

LOUDNESS = 10 ** (-20 / 20)
"""RMS of speech, relative to full scale: -20 dBFS, as loud as telephone prompts are
(ITU-T P.56 active level; -26 dBov is the network's nominal, prompts are made 3 to 6 dB louder)."""

LEAD_SECONDS = 0.01
"""Silence kept in front of the first sound, so that its onset is whole."""

TAIL_SECONDS = {"": 0.04, ",": 0.16, ";": 0.2, ":": 0.2, "-": 0.16, ".": 0.3, "!": 0.3, "?": 0.3}
"""Silence kept after a clause, by how it ends: the pauses of read speech."""

AUDIBLE = 0.004
"""Amplitude below which nothing is heard on a telephone line: -48 dBFS."""


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word as it was written, and when it sounds."""

    text: str
    start: float
    "seconds from the first sample"
    end: float


@dataclass(frozen=True, slots=True)
class Spoken:
    """The sound of a text."""

    samples: Floats
    "-1 to 1, at 24 kHz"
    words: tuple[SpokenWord, ...]


class _Network:
    """An ONNX session in the form that hibari's pronunciation of unknown words expects."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def run(self, _outputs: None, inputs: dict[str, npt.NDArray[np.generic]]) -> list[Any]:
        """Run the network."""
        return list(self._session.run(inputs))


class Hibari:
    """Speaks short texts; all of it blocks and belongs in a worker thread."""

    def __init__(self, runtime: Runtime) -> None:
        """Take the runtime; `load` or the first text loads the models."""
        self._runtime = runtime
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._g2p: Any = None
        self._dsp: Any = None
        self._vocabulary: dict[str, int] = {}

    def load(self) -> Session:
        """Load what is needed (0.4 s); raises ModelMissing or ModelWrong."""
        with self._lock:
            if self._session is not None:
                return self._session
            main = find("hibari")
            package = main.parent.parent
            for name in ("g2p/__init__.py", "dsp.py", "__init__.py"):
                find("hibari", f"hibari/{name}")  # verifies the code that is about to be imported
            if str(package.parent) not in sys.path:
                sys.path.append(str(package.parent))
            g2p = importlib.import_module("hibari.g2p")
            oov = importlib.import_module("hibari.g2p.oov")
            self._dsp = importlib.import_module("hibari.dsp")
            words = self._runtime.load(main.parent / "oov.onnx", name="hibari-oov")
            self._g2p = g2p.G2P(oov=oov.OOV(session=_Network(words)))
            self._vocabulary = json.loads((main.parent / "vocab.json").read_text("utf-8"))
            graph = with_output(main.read_bytes(), DURATIONS, "float32", 2)
            self._session = self._runtime.load(graph, name="hibari", providers=("cpu",))
            return self._session

    def say(self, text: str) -> Spoken:
        """Speak a clause or a few sentences."""
        session = self.load()
        parts: list[Floats] = []
        words: list[SpokenWord] = []
        at = 0.0
        for pieces in _sentences(normalise(text)):
            sound = self._sentence(session, pieces)
            parts.append(sound.samples)
            words += [SpokenWord(w.text, w.start + at, w.end + at) for w in sound.words]
            at += len(sound.samples) / RATE
        samples = np.concatenate(parts) if parts else np.zeros(0, np.float32)
        return Spoken(samples, tuple(words))

    def _sentence(self, session: Session, pieces: Sequence[Piece]) -> Spoken:
        text = " ".join(piece.spoken for piece in pieces)
        phonemes, owners = self._phonemes(text, pieces)
        ids = [0, *(self._vocabulary[each] for each in phonemes), 0]
        if len(ids) < 3:
            return Spoken(np.zeros(0, np.float32), ())
        inputs: dict[str, npt.NDArray[Any]] = {
            "ids": np.array([ids], np.int64),
            "speed": np.ones(1, np.float32),
        }
        *spectrum, lasting = session.run(inputs)
        durations = np.asarray(lasting, np.float32).reshape(-1)
        noise = np.random.default_rng(0)  # the same text always sounds the same
        raw = self._dsp.synth(*(each[0] for each in spectrum), noise)
        ends = np.cumsum(durations) * UNIT_SECONDS
        return _finish(raw, _word_times(ends, owners, pieces), text)

    def _phonemes(self, text: str, pieces: Sequence[Piece]) -> tuple[list[str], list[int]]:
        """Pronounce a text: phonemes the network knows, and the piece each belongs to."""
        bounds = np.cumsum([len(piece.spoken) + 1 for piece in pieces])
        phonemes: list[str] = []
        owners: list[int] = []
        position = 0
        with self._lock:  # the pronunciation keeps state between its steps
            tokens = self._g2p.phonemize_tokens(self._g2p.tokenize(text))
        for token in tokens:
            owner = min(int(np.searchsorted(bounds, position, "right")), len(pieces) - 1)
            said = (token.phonemes or "") + (" " if token.whitespace else "")
            known = [each for each in said if each in self._vocabulary]
            phonemes += known
            owners += [owner] * len(known)
            position += len(token.text) + len(token.whitespace)
        return phonemes[:LONGEST_PHONEMES], owners[:LONGEST_PHONEMES]


def _sentences(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Split where sentences end, so that each is spoken with its own melody."""
    found: list[list[Piece]] = [[]]
    for piece in pieces:
        found[-1].append(piece)
        length = sum(len(each.spoken) for each in found[-1])
        if piece.spoken.endswith((".", "!", "?")) or length > LONGEST_PHONEMES * 0.6:
            found.append([])
    return [each for each in found if each]


def _word_times(
    ends: npt.NDArray[np.floating[Any]], owners: Sequence[int], pieces: Sequence[Piece]
) -> list[SpokenWord]:
    """Give each written word the time of its phonemes; the first pad has no owner."""
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    for place, owner in enumerate(owners):
        first.setdefault(owner, float(ends[place]))
        last[owner] = float(ends[place + 1])
    return [
        SpokenWord(piece.written, first[number], last[number])
        for number, piece in enumerate(pieces)
        if number in first
    ]


def _finish(raw: Floats, words: list[SpokenWord], text: str) -> Spoken:
    """Take silence off both ends, and bring speech to its loudness."""
    loud = np.flatnonzero(np.abs(raw) > AUDIBLE)
    if not len(loud):
        return Spoken(np.zeros(0, np.float32), ())
    begin = max(0, int(loud[0]) - int(LEAD_SECONDS * RATE))
    tail = TAIL_SECONDS.get(text.rstrip()[-1:], TAIL_SECONDS[""])
    end = int(loud[-1]) + 1
    speech = raw[begin:end]
    active = speech[np.abs(speech) > AUDIBLE]
    gain = LOUDNESS / max(float(np.sqrt(np.mean(active * active))), 1e-4)
    peak = float(np.max(np.abs(speech)))
    gain = min(gain, 0.95 / peak)
    samples = np.concatenate([speech * np.float32(gain), np.zeros(int(tail * RATE), np.float32)])
    cut = begin / RATE
    length = len(samples) / RATE
    placed = tuple(
        SpokenWord(w.text, max(0.0, w.start - cut), min(length, max(0.0, w.end - cut)))
        for w in words
    )
    return Spoken(samples.astype(np.float32), placed)
