"""The one file that knows onnxruntime: loads models, runs them, says what they really run on.

One runtime a process, one session a model, shared by all calls; a session may be run from several
threads at once.
Every run keeps to the thread that asked for it (no threads of onnxruntime's own), so the niceness
of the workers holds for all model work.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from inference import libraries
from inference.errors import RuntimeMissing
from inference.manifest import find
from inference.pool import Priority, Workers
from inference.providers import (
    PROVIDERS,
    Loaded,
    Shapes,
    check_got,
    check_libraries,
    check_wanted,
    choose,
    options_for,
    our_names,
)

if TYPE_CHECKING:
    import onnxruntime

Array = npt.NDArray[np.generic]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    """What models run on."""

    providers: tuple[str, ...] = ("cpu",)
    "in order of preference: `tensorrt`, `cuda`, `cpu`; each must be there"
    allow_fallback: bool = False
    "run on what there is where a wanted provider is missing"
    workers: int = 2
    "threads for model work; more than cores only makes each answer later"
    niceness: int = 5
    "how far they stand back behind the audio; on a busy core 5 leaves them a quarter of it"
    cache: Path | None = None
    "folder for built TensorRT engines; None: they are built at every start"

    def __post_init__(self) -> None:
        """Refuse a name that is no provider."""
        check_wanted(self.providers)


class Session:
    """A loaded model; what its inputs mean is known where it is used."""

    def __init__(self, name: str, session: onnxruntime.InferenceSession, workers: Workers) -> None:
        """Wrap a session; the runtime makes these."""
        self.name = name
        self.inputs = tuple(each.name for each in session.get_inputs())
        self.outputs = tuple(each.name for each in session.get_outputs())
        self._session = session
        self._workers = workers

    def run(self, inputs: Mapping[str, Array], outputs: Sequence[str] | None = None) -> list[Array]:
        """Run in this thread (not the loop's) and give the named outputs, or all, in order."""
        found: list[Array] = self._session.run(outputs or self.outputs, inputs)
        return found

    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None = None,
        *,
        priority: int = Priority.DECISION,
        due: float | None = None,
    ) -> list[Array]:
        """Run in a worker thread; raise Refused when full, or not begun by `due` (loop seconds)."""
        return await self._workers.run(
            lambda: self.run(inputs, outputs), priority=priority, due=due, model=self.name
        )


class Runtime:
    """Loads each model once and lends the threads to run it in."""

    def __init__(self, settings: RuntimeSettings | None = None) -> None:
        """Check the settings; raise ValueError for unknown providers."""
        self.settings = settings or RuntimeSettings()
        check_wanted(self.settings.providers)
        self.loaded: list[Loaded] = []
        self.workers = Workers(self.settings.workers, niceness=self.settings.niceness)
        self._sessions: dict[str, Session] = {}
        self._loading = threading.Lock()

    def load(
        self,
        source: str | Path | bytes,
        *,
        name: str = "",
        shapes: Mapping[str, Shapes] | None = None,
        providers: Sequence[str] | None = None,
    ) -> Session:
        """Load a model, or give the session it has; takes up to a second (minutes with TensorRT).

        `source` is a model of the manifest (`smart-turn`, or with one of its files:
        `moonshine/encoder_model.ort`), a path, or the model itself, which then needs a `name`.
        `providers` says otherwise than the settings, for a model that gains nothing from a GPU.
        Raise ModelMissing, ModelWrong, RuntimeMissing or ProviderMissing.
        """
        key = name or str(source if not isinstance(source, bytes) else "")
        if not key:
            raise ValueError("a model given as bytes needs a name")
        with self._loading:
            session = self._sessions.get(key)
            if session is None:
                session = self._open(key, source, shapes or {}, providers)
                self._sessions[key] = session
        return session

    async def run(
        self,
        job: Callable[[], T],
        *,
        priority: int = Priority.DECISION,
        due: float | None = None,
        model: str = "other",
    ) -> T:
        """Run a job of several model calls in one worker thread."""
        return await self.workers.run(job, priority=priority, due=due, model=model)

    def close(self) -> None:
        """End the threads; running jobs end first."""
        self.workers.close()

    def _open(
        self,
        key: str,
        source: str | Path | bytes,
        shapes: Mapping[str, Shapes],
        providers: Sequence[str] | None,
    ) -> Session:
        begun = time.monotonic()
        wanted = tuple(providers or self.settings.providers)
        allow = self.settings.allow_fallback
        runtime = _onnxruntime()
        there = choose(wanted, runtime.get_available_providers(), allow)
        model = _content(source)
        check_libraries(load_libraries(runtime, there), allow)
        options = [options_for(each, _plain(key), shapes, self.settings.cache) for each in there]
        if self.settings.cache is not None:
            self.settings.cache.mkdir(parents=True, exist_ok=True)
        session = runtime.InferenceSession(
            model,
            _session_options(runtime),
            providers=[PROVIDERS[each] for each in there],
            provider_options=options,
            # onnxruntime's own second try prints to standard output and hides the cause.
            enable_fallback=int(allow),
        )
        got = our_names(session.get_providers())
        check_got(key, wanted, got, allow)
        self.loaded.append(Loaded(key, wanted, got, time.monotonic() - begun))
        return Session(key, session, self.workers)


def _onnxruntime() -> ModuleType:
    """Import onnxruntime, late, so that all that needs no model works without it."""
    try:
        return importlib.import_module("onnxruntime")
    except ImportError as error:
        raise RuntimeMissing(
            "models need onnxruntime, and none can be imported: install `pip install parley[cpu]`, "
            f"or `pip install parley[gpu]` for NVIDIA GPUs, never both ({error})"
        ) from error


def load_libraries(runtime: ModuleType, providers: Sequence[str]) -> tuple[str, ...]:
    """Load what the providers link, before a session asks for them; say what is missing."""
    folder = Path(runtime.__file__ or "").parent / "capi"
    linked = [each for each in providers if each in libraries.PROVIDER_FILES]
    return tuple(said for each in linked if (said := libraries.load(each, folder)))


def _session_options(runtime: ModuleType) -> onnxruntime.SessionOptions:
    """Run each model in the caller's thread, and never spin: that core belongs to the audio."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = runtime.ExecutionMode.ORT_SEQUENTIAL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    options.log_severity_level = 3  # errors: its warnings tell of graph clean-up
    return options


def _content(source: str | Path | bytes) -> str | bytes:
    """Return what onnxruntime takes: the path of a file, which it maps, or a model's bytes."""
    match source:
        case bytes():
            return source
        case Path():
            return str(source)
        case _:
            model, _, file = source.partition("/")
            return str(find(model, file))


def _plain(name: str) -> str:
    """Make a model's name fit for the name of a file."""
    return "".join(each if each.isalnum() or each in "-_." else "-" for each in name)
