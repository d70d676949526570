"""Model files and the one runtime that runs them; what they are used for is decided above."""

from inference.errors import (
    FetchFailed,
    ModelMissing,
    ModelWrong,
    ProviderMissing,
    Refused,
    RuntimeMissing,
)
from inference.fetch import fetch_models
from inference.manifest import ModelState, cache_folder, find, find_folder, list_models

__all__ = [
    "FetchFailed",
    "ModelMissing",
    "ModelState",
    "ModelWrong",
    "ProviderMissing",
    "Refused",
    "RuntimeMissing",
    "cache_folder",
    "fetch_models",
    "find",
    "find_folder",
    "list_models",
]
