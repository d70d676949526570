"""What can be wrong with models and with the runtime that runs them.

All are the operator's to mend: each message names what was wanted, what was found and what to do.
"""

from __future__ import annotations


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
