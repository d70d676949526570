"""Behind which pieces of sound a mark goes: a pure machine."""

from __future__ import annotations

from media.playout import Chunk, Mark


class MarkPlan:
    """Decides where marks go, so that each sample sent has one behind it before sending pauses.

    Behind the first chunk of each utterance, which tells when it began to sound and how long the
    path is; then as often as is wanted; and behind the last, also where only what follows (another
    utterance, a pause) shows that it was the last.
    """

    __slots__ = ("_every", "_since", "_unmarked", "_whose")

    def __init__(self, every: int) -> None:
        """Mark every so many samples."""
        self._every = every
        self._since = 0
        self._whose = (0, 0)
        self._unmarked: Chunk | None = None

    def before(self, chunk: Chunk) -> Mark | None:
        """Return the mark that must go before a chunk: that of another utterance's end."""
        last = self._unmarked
        if last is None or last.utterance == chunk.utterance:
            return None
        return self.rest()

    def after(self, chunk: Chunk) -> Mark | None:
        """Return the mark that follows a chunk, if one does."""
        whose = chunk.utterance, chunk.generation
        first, self._whose = whose != self._whose, whose
        self._since += chunk.end - chunk.start
        if first or chunk.last or self._since >= self._every:
            self.forget()
            return chunk.mark
        self._unmarked = chunk
        return None

    def rest(self) -> Mark | None:
        """Return the mark for what was sent since the last one, now that sending pauses."""
        last = self._unmarked
        self.forget()
        return None if last is None else last.mark

    def forget(self) -> None:
        """Begin anew; what was sent is cleared, or marked."""
        self._since, self._unmarked = 0, None
