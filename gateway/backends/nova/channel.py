"""One bidirectional stream of Amazon's Bedrock, through Amazon's own SDK, which is an extra.

The only module that knows the SDK: it changes its names often, and needs Python 3.12.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from gateway.backends.nova.settings import NovaSettings

LONGEST_BACKLOG = 1500
"""Events that may wait to be sent: half a minute of sound, after which nobody reads them."""

GOODBYE_SECONDS = 2.0
"""How long the service may take to end the stream after its input has ended."""

NEEDS_PYTHON = (3, 12)


def sdk() -> ModuleType:
    """Import the SDK; raises OSError in words for the operator."""
    if sys.version_info < NEEDS_PYTHON:
        here = ".".join(map(str, sys.version_info[:2]))
        raise OSError(f"Nova Sonic needs Python 3.12 or newer: Amazon's SDK does; this is {here}")
    try:
        return importlib.import_module("aws_sdk_bedrock_runtime")
    except ImportError as error:
        raise OSError(
            f"Nova Sonic needs Amazon's SDK: pip install 'parley[nova]' ({error})"
        ) from None


class BedrockChannel:
    """Sends and receives JSON documents as a `ModelSocket` does; `serve` must run beside it."""

    def __init__(
        self,
        settings: NovaSettings,
        on_message: Callable[[bytes], None],
        on_closed: Callable[[], None],
        transport: Any = None,
    ) -> None:
        """`transport` is the SDK's own; None: the one that can do both directions at once."""
        self._settings = settings
        self._on_message = on_message
        self._on_closed = on_closed
        self._transport = transport
        self._client: Any = None
        self._stream: Any = None
        self._events: asyncio.Queue[bytes | None] = asyncio.Queue(LONGEST_BACKLOG)
        self.closed = asyncio.Event()
        self.reason = ""

    async def open(self, url: str, headers: Mapping[str, str], seconds: float) -> None:
        """Begin the stream; `url` is another endpoint, empty for the region's own."""
        runtime = sdk()
        models: Any = importlib.import_module("aws_sdk_bedrock_runtime.models")
        client: Any = importlib.import_module("aws_sdk_bedrock_runtime.client")
        config: Any = importlib.import_module("aws_sdk_bedrock_runtime.config")
        del runtime
        wanted: dict[str, Any] = {"region": self._settings.region}
        if url:
            wanted["endpoint_uri"] = url
        # The SDK's default transport cannot send and receive at once.
        crt: Any = importlib.import_module("smithy_http.aio.crt")
        wanted["transport"] = self._transport or crt.AWSCRTHTTPClient()
        try:
            async with asyncio.timeout(seconds):
                resolved = await config.AsyncBedrockRuntimeConfig.resolve(**wanted)
                self._client = client.AsyncBedrockRuntimeClient(resolved)
                asked = models.InvokeModelWithBidirectionalStreamOperationInput(
                    model_id=self._settings.model
                )
                self._stream = await self._client.invoke_model_with_bidirectional_stream(asked)
        except (OSError, TimeoutError):
            raise
        except Exception as refused:  # fence: the SDK's errors have no common ancestor of their own
            raise OSError(f"Bedrock refused: {type(refused).__name__}: {refused}"[:200]) from None
        self._models = models

    async def serve(self) -> None:
        """Send and receive until the stream is over."""
        try:
            async with asyncio.TaskGroup() as group:
                sending = group.create_task(self._send_all())
                try:
                    await self._receive_all()
                finally:
                    sending.cancel()
        except* Exception as broken:  # fence: what the SDK raises is its own; the call goes on
            first = broken.exceptions[0]
            self.reason = self.reason or f"{type(first).__name__}: {first}"[:200]
        finally:
            self.reason = self.reason or "the stream ended"
            self.closed.set()
            self._on_closed()

    def send(self, text: str) -> None:
        """Send an event; one that cannot be sent any more is dropped."""
        if self.closed.is_set():
            return
        try:
            self._events.put_nowait(text.encode())
        except asyncio.QueueFull:
            self.reason = self.reason or "the service does not read"
            self.closed.set()
            self._on_closed()

    def close(self) -> None:
        """End the input; the service ends the rest."""
        try:
            self._events.put_nowait(None)
        except asyncio.QueueFull:
            pass  # it does not read anyway

    async def _send_all(self) -> None:
        part, chunk = (
            self._models.BidirectionalInputPayloadPart,
            self._models.InvokeModelWithBidirectionalStreamInputChunk,
        )
        while (event := await self._events.get()) is not None:
            await self._stream.input_stream.send(chunk(value=part(bytes_=event)))
        await self._stream.input_stream.close()
        await asyncio.sleep(GOODBYE_SECONDS)
        raise TimeoutError("the service did not end the stream")

    async def _receive_all(self) -> None:
        _, output = await self._stream.await_output()
        while (result := await output.receive()) is not None:
            content = getattr(result.value, "bytes_", None)
            if content is None:  # any other member of the union is an error
                self.reason = f"{type(result.value).__name__}: {result.value}"[:200]
                return
            self._on_message(content)
