"""What can be wrong with models and with the runtime that runs them.

All but `Broke` and `Refused` are the operator's to mend: each message names what was wanted, what
was found and what to do.
"""

from __future__ import annotations

LONGEST_REASON = 200
"""Characters: an error of a model may quote the whole of what it was given."""


class ModelMissing(RuntimeError):
    """A model file is not in the cache."""


class ModelWrong(RuntimeError):
    """A model file is in the cache, but is not the file that the manifest names."""


class FetchFailed(RuntimeError):
    """The package index did not give what the manifest names."""


class RuntimeMissing(RuntimeError):
    """No onnxruntime is installed."""


class ProviderMissing(RuntimeError):
    """A wanted execution provider is not there, or did not take the model."""


class Refused(RuntimeError):
    """A request was not taken in, or was dropped: the queue is full or the deadline has passed."""


class Broke(RuntimeError):
    """Something was raised that is no error: an exit, an interrupt, the end of an iterator."""


def as_error(raised: BaseException) -> Exception:
    """Return what was raised as an error, which every fence takes and every future can hold."""
    ends = isinstance(raised, StopIteration | StopAsyncIteration)
    if isinstance(raised, Exception) and not ends:
        return raised
    said = f": {raised}" if str(raised) else ""
    broke = Broke(f"{type(raised).__name__} was raised{said}")
    broke.__cause__ = raised
    return broke


def in_words(error: Exception) -> str:
    """Say in one bounded line what failed, for a log."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:LONGEST_REASON]
