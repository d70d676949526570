"""Knows which of many ways to write down what was said is the likeliest: a beam search.

A machine: told the model's probabilities for the next piece, it says which pieces to try next.
Words that the agent expects get a bonus as they are written, taken back where they break off, so
that they win against what merely sounds alike and lose against what was clearly said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gateway.backends.cascade.recognisers.moonshine_tokens import END

Scores = npt.NDArray[np.float32]

HOPELESS = 4.0
"""Natural logarithms by which a path is left that falls behind the best: what is fifty times less
likely does not win any more, and each path that is kept costs a step of the decoder.
`python -m bench.recognise` counts as many wrong words without a bound as with this one."""

UNLIKELY = 12.0
"""Natural logarithms below the likeliest piece that no piece is looked at: it would be hopeless."""

PLAUSIBLE = -0.7
"""Logarithm of the probability (0.5) over which a piece of a draft is taken as it is: the model
would write it too. With drafts from the first 70 % of each turn 14.8 % of 764 words were wrong,
without any 15.7 % (`python -m bench.recognise FOLDER --draft 0.7`); at -2.0 it takes fewer steps,
and what was misheard early stands for good."""

BEGIN_BONUS = 1.0
GO_ON_BONUS = 2.0
"""Natural logarithms. On telephone recordings with eight expected phrases 13.6 % of all words were
wrong without a bonus and 12.9 % with this one (`python -m bench.recognise`); 3 and 4 made phrases
up that nobody had said."""

MOST_BONUS = 5.0
"""For one phrase, however long."""

LOOP_PIECES = 8
LOOP_ROUNDS = 4
LONGEST_LOOP = 8
"""A tail that repeats itself four times over at least eight pieces is no speech but a stuck model;
shorter repeats are: "no no no no", "zero zero zero zero"."""

NEAR_LOOP_PIECES = 24
NEAR_LOOP_DIFFERENT = 10
"""So is a tail of this length with that few different threes: the same words over and over."""


@dataclass(slots=True)
class Expected:
    """Words that are likely to be said, as a tree of pieces."""

    branches: list[dict[int, int]] = field(default_factory=lambda: [{}])
    "for each node the pieces that go on from it, and where to; node 0 is the root"
    ends: set[int] = field(default_factory=set)
    "nodes at which a word is complete"

    def add(self, pieces: Iterable[int]) -> None:
        """Take in one word or phrase."""
        node = 0
        for piece in pieces:
            if piece not in self.branches[node]:
                self.branches[node][piece] = len(self.branches)
                self.branches.append({})
            node = self.branches[node][piece]
        if node:
            self.ends.add(node)

    def next(self, node: int) -> Mapping[int, tuple[int, float]]:
        """Return the pieces that get a bonus after `node`: where each leads, and how much."""
        found = {piece: (to, BEGIN_BONUS) for piece, to in self.branches[0].items()}
        if node:
            found |= {piece: (to, GO_ON_BONUS) for piece, to in self.branches[node].items()}
        return found


@dataclass(frozen=True, slots=True)
class Written:
    """One way to write it, complete."""

    pieces: tuple[int, ...]
    score: float
    "logarithm of its probability, bonus included"
    confidence: float
    "mean logarithm of the probability of a piece, without any bonus: 0 is certain"


@dataclass(frozen=True, slots=True)
class _Path:
    """One way to write it, so far."""

    pieces: tuple[int, ...] = ()
    model: float = 0.0
    kept: float = 0.0
    "bonus of words that were completed"
    lent: float = 0.0
    "bonus of a word that may still break off"
    node: int = 0
    "how far it is in a word that is expected"
    got: frozenset[int] = frozenset()
    "ends of the words it had a bonus for: saying them again earns nothing, or it would never stop"

    @property
    def score(self) -> float:
        return self.model + self.kept + self.lent


@dataclass(frozen=True, slots=True)
class Step:
    """What to ask the model next: each path's last piece, and which of the earlier paths it was."""

    pieces: tuple[int, ...]
    parents: tuple[int, ...]


class BeamSearch:
    """Keeps the likeliest few ways to write it; ends by itself, at the latest after `limit`."""

    def __init__(self, width: int, limit: int, expected: Expected | None = None) -> None:
        """Take how many paths are kept and how many pieces there may be."""
        self._width = width
        self._limit = limit
        self._expected = expected
        self._paths = [_Path()]
        self._done: list[Written] = []

    @property
    def best(self) -> Written:
        """Return the likeliest way, complete if there is one."""
        if self._done:
            return max(self._done, key=lambda each: each.score)
        return _written(max(self._paths, key=lambda each: each.score))

    def accept(self, logits: Scores, draft: Sequence[int]) -> int:
        """Take the beginning of a draft that the model itself would have written; say how much.

        `logits` are the model's scores before each piece of the draft, and after its last.
        Only for a beam that has not begun; what is accepted is as if it had been found.
        """
        path = self._paths[0]
        for at, piece in enumerate(draft):
            logs = _logarithms(logits[at : at + 1])[0]
            if piece == END or logs[piece] < PLAUSIBLE or len(path.pieces) >= self._limit - 1:
                break
            path = next(each for each, grown in self._grow(path, logs) if grown == piece)
        self._paths = [path]
        return len(path.pieces)

    def advance(self, logits: Scores) -> Step | None:
        """Take the model's scores after each path (paths x pieces); None: `best` is final."""
        logs = _logarithms(logits)
        reached: list[tuple[_Path, int, int]] = []
        for parent, path in enumerate(self._paths):
            reached += [(each, parent, piece) for each, piece in self._grow(path, logs[parent])]
        reached.sort(key=lambda each: -each[0].score)
        paths: list[_Path] = []
        parents: list[int] = []
        for path, parent, piece in reached:
            if path.score < reached[0][0].score - HOPELESS:
                break
            if piece == END:
                self._done.append(_written(path, ended=True))
                if self._width == 1:
                    break
            elif not loops(path.pieces):
                paths.append(path)
                parents.append(parent)
            if len(paths) == self._width:
                break
        if not paths or self._settled(paths):
            return None
        self._paths = paths
        if len(paths[0].pieces) >= self._limit:
            return None
        return Step(tuple(each.pieces[-1] for each in paths), tuple(parents))

    def _settled(self, paths: list[_Path]) -> bool:
        """Return whether no path can become better than one that is complete."""
        if not self._done:
            return False
        return max(each.score for each in self._done) >= max(each.score for each in paths)

    def _grow(self, path: _Path, logs: Scores) -> Iterable[tuple[_Path, int]]:
        """Return the paths that go on from this one, with their new piece."""
        bonus = self._expected.next(path.node) if self._expected else {}
        # One more than the width, so that the end does not take a place.
        count = min(self._width + 1, len(logs))
        near = np.flatnonzero(logs > logs.max() - UNLIKELY)
        likely = near[np.argsort(logs[near])[-count:]].tolist()
        for piece in {*likely, *bonus}:
            model = path.model + float(logs[piece])
            if piece == END:
                yield _Path(path.pieces, model, path.kept), piece
            elif piece in bonus:
                yield self._lend(path, piece, model, *bonus[piece]), piece
            else:
                yield _Path((*path.pieces, piece), model, path.kept, got=path.got), piece

    def _lend(self, path: _Path, piece: int, model: float, to: int, gain: float) -> _Path:
        """Go on within an expected word; the bonus is its own once the word is complete."""
        assert self._expected is not None
        pieces = (*path.pieces, piece)
        goes_on = path.node != 0 and self._expected.branches[path.node].get(piece) == to
        lent = min(gain + (path.lent if goes_on else 0.0), MOST_BONUS)
        if to not in self._expected.ends:
            return _Path(pieces, model, path.kept, lent, to, path.got)
        if to in path.got:
            return _Path(pieces, model, path.kept, 0.0, to, path.got)
        return _Path(pieces, model, path.kept + lent, 0.0, to, path.got | {to})


def loops(pieces: tuple[int, ...]) -> bool:
    """Return whether the tail repeats itself more than anybody would."""
    for period in range(1, LONGEST_LOOP + 1):
        rounds = max(LOOP_ROUNDS, -(-LOOP_PIECES // period))
        tail = pieces[-period * rounds :]
        if len(tail) == period * rounds and tail == tail[-period:] * rounds:
            return True
    tail = pieces[-NEAR_LOOP_PIECES:]
    threes = set(zip(tail, tail[1:], tail[2:], strict=False))
    return len(tail) == NEAR_LOOP_PIECES and len(threes) <= NEAR_LOOP_DIFFERENT


def _written(path: _Path, *, ended: bool = False) -> Written:
    count = len(path.pieces) + ended
    return Written(path.pieces, path.model + path.kept, path.model / max(count, 1))


def _logarithms(logits: Scores) -> Scores:
    """Turn scores into logarithms of probabilities, row by row."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    found: Scores = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return found
