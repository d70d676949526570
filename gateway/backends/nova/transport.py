"""The one transport of Amazon's SDK that sends and receives at once, with its gaps closed.

As it comes it starts a thread for each client that no one ends, leaves what goes wrong with a
request's body to nobody, and waits for ever for the status of a request whose connection broke.
"""

from __future__ import annotations

import asyncio
import importlib
from concurrent.futures import Future
from functools import cache, partial
from types import SimpleNamespace
from typing import Any


def duplex_transport() -> Any:
    """Make one call's transport; it has connections of its own and shares the SDK's thread."""
    return _kind()(eventloop=_event_loop())


@cache
def _event_loop() -> Any:
    """Start awscrt's own thread, one for the process."""
    io: Any = importlib.import_module("awscrt.io")
    group = io.EventLoopGroup(1)
    return SimpleNamespace(bootstrap=io.ClientBootstrap(group, io.DefaultHostResolver(group)))


@cache
def _kind() -> Any:
    """Make the class where the SDK is there."""
    crt: Any = importlib.import_module("smithy_http.aio.crt")

    class DuplexTransport(crt.AWSCRTHTTPClient):  # type: ignore[misc]
        """Asks as its parent does; what it reaches into is looked for, and done without."""

        async def _await_response(self, stream: Any) -> Any:
            writer = getattr(stream, "_writer", None)
            if writer is not None:
                writer.add_done_callback(_take_error)
            completion = getattr(stream, "_completion_future", None)
            if completion is not None:
                completion.add_done_callback(partial(_tell_of_end, stream))
            return await super()._await_response(stream)

    return DuplexTransport


def _take_error(task: asyncio.Task[None]) -> None:
    """Take the error of a body that nobody reads any more: the answer tells of the end."""
    if not task.cancelled():
        task.exception()


def _tell_of_end(stream: Any, completion: Future[int]) -> None:
    """Pass a stream's error on to those who wait for its status; called in awscrt's thread."""
    error = None if completion.cancelled() else completion.exception()
    for waiting in (
        getattr(stream, "_response_status_future", None),
        getattr(stream, "_response_headers_future", None),
    ):
        if error is not None and isinstance(waiting, Future) and not waiting.done():
            waiting.set_exception(error)
