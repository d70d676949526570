"""The embedded voice: hibari, American English, 24 kHz, a clause at a time, with word times.

Its network predicts a spectrum and how long each phoneme lasts; the package's own signal processing
makes the waveform. Pronunciation and signal processing are the package's, read from the verified
files of the model cache; the networks run in the one runtime.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from inference.manifest import find_folder
from inference.network import with_output
from inference.runtime import Runtime, Session
from tts.english import ENGLISH
from tts.normalise import Said, normalise
from tts.sound import Floats, Sound, finish, join, written_words

MODEL = "hibari"

RATE = 24000
"""hibari: samples per second."""

DURATIONS = "/Clip_output_0"
"""Tensor inside the graph: how long each phoneme lasts, in units of `UNIT_SECONDS`."""

UNIT_SECONDS = 0.025
"""Two of the network's frames of 12.5 ms, at every speed: the durations of a clause sum to the
length of its sound, which a test holds."""

PAD = 0
"""Stands before and after every text."""

LONGEST_PHONEMES = 380
"""hibari cuts its own texts at 400; a word is not cut in two."""

_LETTERS = re.compile(r"(?:[A-Z]\.)+")
"""`A.`, `P.M.`: letters that are named."""

Network = Mapping[str, npt.NDArray[Any]]


class Hibari:
    """Speaks clauses; all of it blocks for some 10 ms a second of speech: for worker threads."""

    name = "hibari-0.2.1-heart"
    "what sound of it is kept under; another name for another voice or version"
    language = ENGLISH

    def __init__(self, runtime: Runtime, speed: float = 1.0) -> None:
        """Take the runtime and a speed (0.5 to 2); `load` or the first clause loads the models."""
        self._runtime = runtime
        self._speed = np.array([speed], np.float32)
        self._lock = threading.Lock()
        self._parts: _Parts | None = None

    def load(self) -> None:
        """Load what is needed (0.5 s, 100 MB of word lists); raise ModelMissing or ModelWrong."""
        with self._lock:
            if self._parts is None:
                self._parts = _Parts(self._runtime)

    def render(self, text: str, rate: int, *, goes_on: bool = False) -> Sound:
        """Speak a clause or a few; text without anything to say gives no sound.

        `goes_on` says that the sentence does, where no mark at the end tells.
        """
        self.load()
        parts = self._parts
        assert parts is not None
        said = _closed(normalise(text, self.language), "," if goes_on else ".")
        sounds = []
        for run in _runs(said):
            with self._lock:  # its caches are plain dictionaries
                phonemes, owners = parts.pronounce(run)
            for piece, ids, mine in _bounded(run, phonemes, owners):
                sounds.append(self._speak(parts, piece, ids, mine, rate))
        return join(sounds, rate)

    def _speak(
        self, parts: _Parts, said: Sequence[Said], ids: list[int], owners: list[int], rate: int
    ) -> Sound:
        """Speak one stretch of phonemes; `owners` tells the spoken word of each."""
        mark = next((each.pause for each in reversed(said) if each.words), "")
        if not ids:
            return Sound(mark=mark)
        padded = np.array([[PAD, *ids, PAD]], np.int64)
        *spectrum, lasting = parts.voice.run({"ids": padded, "speed": self._speed})
        noise = np.random.default_rng(0)  # the same text always sounds the same
        raw: Floats = parts.signal.synth(*(each[0] for each in spectrum), noise)
        pcm, cut = finish(raw, RATE, rate)
        ends = np.cumsum(np.asarray(lasting, np.float64).reshape(-1)) * UNIT_SECONDS - cut
        times = _word_times(ends, owners, sum(len(each.words) for each in said))
        return Sound(pcm, written_words(said, times, len(pcm) / 2 / rate) if pcm else (), mark)


class _Parts:
    """Everything that was loaded."""

    def __init__(self, runtime: Runtime) -> None:
        package = find_folder(MODEL) / "hibari"
        assets = package / "assets"
        self.signal = _module("parley_hibari_dsp", package / "dsp.py")
        self._pronunciation = _module("parley_hibari_g2p", package / "g2p" / "__init__.py")
        unknown = importlib.import_module("parley_hibari_g2p.oov")
        # Both are small and quick; a GPU would only be further away.
        speller = runtime.load(f"{MODEL}/hibari/assets/oov.onnx", providers=("cpu",))
        graph = with_output((assets / "hibari.onnx").read_bytes(), DURATIONS, "float32", 1)
        self.voice = runtime.load(graph, name=MODEL, providers=("cpu",))
        words = unknown.OOV(str(assets / "oov.onnx"), session=_Speller(speller))
        self._reader = self._pronunciation.G2P(oov=words)
        self._ids: dict[str, int] = json.loads((assets / "vocab.json").read_text("utf-8"))
        self._names: dict[str, str] = {}

    def pronounce(self, said: Sequence[Said]) -> tuple[list[int], list[int]]:
        """Return the phonemes of some pieces, as ids, and the spoken word that each belongs to."""
        words = [word for each in said for word in each.words]
        text = ""
        ends: list[int] = []
        for word, pause in _with_pauses(said):
            text += self._spelled(word) + pause + " "
            ends.append((ends[-1] if ends else 0) + len(word) + len(pause) + 1)
        tokens = self._reader.phonemize_tokens(self._reader.tokenize(text.rstrip()))
        ids: list[int] = []
        owners: list[int] = []
        at = 0
        for token in tokens:
            owner = min(int(np.searchsorted(ends, at, "right")), len(words) - 1)
            sounds = (token.phonemes or "") + (" " if token.whitespace else "")
            known = [self._ids[each] for each in sounds if each in self._ids]
            ids += known
            owners += [owner] * len(known)
            at += len(token.text) + len(token.whitespace)
        return ids, owners

    def _spelled(self, word: str) -> str:
        """Write letters with their sound beside them (`[A.](/ˈA/)`), so that `A.` is no article."""
        if not _LETTERS.fullmatch(word):
            return word
        if word not in self._names:
            tokens = self._reader.phonemize_tokens(self._reader.tokenize(word))
            self._names[word] = "".join(token.phonemes or "" for token in tokens)
        return f"[{word}](/{self._names[word]}/)"


class _Speller:
    """The network for unknown words, called the way the package calls it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def run(self, outputs: Sequence[str] | None, inputs: Network) -> list[npt.NDArray[Any]]:
        """Run the network."""
        return list(self._session.run(inputs, outputs))


def _module(name: str, path: Path) -> ModuleType:
    """Import one verified file, under a name of our own, without the rest of its package."""
    known = sys.modules.get(name)
    if known is not None:
        return known
    inside = [str(path.parent)] if path.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=inside)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _closed(said: tuple[Said, ...], mark: str) -> tuple[Said, ...]:
    """Return the last words a mark if they have none, so that the voice goes up or down there."""
    for number in range(len(said) - 1, -1, -1):
        if said[number].words:
            if not said[number].pause:
                closed = replace(said[number], pause=mark)
                return (*said[:number], closed, *said[number + 1 :])
            break
    return said


def _with_pauses(said: Sequence[Said]) -> Iterator[tuple[str, str]]:
    """Return each spoken word, with what is heard after it."""
    for each in said:
        for number, word in enumerate(each.words, 1):
            yield word, each.pause if number == len(each.words) else ""


def _runs(said: Sequence[Said]) -> list[list[Said]]:
    """Split where sentences end, so that each has its own melody; the last may want to go on."""
    found: list[list[Said]] = [[]]
    for each in said:
        found[-1].append(each)
        if each.pause and each.pause in ".!?" and each.words:
            found.append([])
    return [run for run in found if any(each.words for each in run)]


def _bounded(
    said: Sequence[Said], ids: list[int], owners: list[int]
) -> Iterator[tuple[Sequence[Said], list[int], list[int]]]:
    """Split what is too long for the network between pieces; owners count from each one's first."""
    if len(ids) <= LONGEST_PHONEMES:
        yield said, ids, owners
        return
    begin_said, begin_id, begin_word, word = 0, 0, 0, 0
    for number, each in enumerate(said):
        word += len(each.words)
        end = int(np.searchsorted(owners, word))
        following = len(said[number + 1].words) if number + 1 < len(said) else 0
        next_end = int(np.searchsorted(owners, word + following))
        if number + 1 == len(said) or next_end - begin_id > LONGEST_PHONEMES:
            mine = [owner - begin_word for owner in owners[begin_id:end]]
            yield said[begin_said : number + 1], ids[begin_id:end], mine
            begin_said, begin_id, begin_word = number + 1, end, word


def _word_times(
    ends: npt.NDArray[np.float64], owners: Sequence[int], words: int
) -> list[tuple[float, float]]:
    """Return each spoken word the time of its phonemes; the first pad belongs to none.

    A word without any (they were written together with the one before) has none of its own.
    """
    times: list[tuple[float, float]] = []
    first = np.searchsorted(owners, np.arange(words), "left")
    last = np.searchsorted(owners, np.arange(words), "right")
    for word in range(words):
        start = float(ends[first[word]])
        times.append((start, float(ends[last[word]]) if last[word] > first[word] else start))
    return times
