"""One bidirectional stream of Amazon's Bedrock, through Amazon's own SDK, which is an extra.

The only module that knows the SDK: it changes its names often, and needs Python 3.12.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.backends.nova.settings import NovaSettings
from gateway.backends.nova.transport import duplex_transport
from gateway.backends.socket import BYTES, LONGEST_MESSAGE
from gateway.plumbing.meter import Meter

LONGEST_BACKLOG = 1000
"""Events that may wait to be sent: a minute of sound, after which nobody reads them."""

GOODBYE_SECONDS = 2.0
"""How long the service may take to end the stream after its input has ended."""

HANG_UP_SECONDS = 0.5
"""How long the SDK may take to end a stream that is over."""

NEEDS_PYTHON = (3, 12)


@dataclass(frozen=True, slots=True)
class SDK:
    """The modules of Amazon's SDK that are used."""

    client: Any
    config: Any
    models: Any
    identity: Any
    chain: Any


def sdk() -> SDK:
    """Import the SDK, which takes half a second; raises OSError in words for the operator."""
    if sys.version_info < NEEDS_PYTHON:
        here = ".".join(map(str, sys.version_info[:2]))
        raise OSError(f"Nova Sonic needs Python 3.12 or newer: Amazon's SDK does; this is {here}")
    try:
        importlib.import_module("awscrt.io")
        return SDK(
            importlib.import_module("aws_sdk_bedrock_runtime.client"),
            importlib.import_module("aws_sdk_bedrock_runtime.config"),
            importlib.import_module("aws_sdk_bedrock_runtime.models"),
            importlib.import_module("smithy_aws_core.identity"),
            importlib.import_module("smithy_aws_core.identity.chain"),
        )
    except ImportError as error:
        raise OSError(
            f"Nova Sonic needs Amazon's SDK: pip install 'parley[nova]' ({error})"
        ) from None


class BedrockChannel:
    """Sends and receives JSON documents as a `ModelSocket` does; `serve` must run beside it.

    What waits for the SDK's transport is never cancelled while the connection is open: awscrt sets
    results from a thread of its own, and fails where one is no longer wanted.
    """

    def __init__(
        self,
        settings: NovaSettings,
        on_message: Callable[[bytes], None],
        on_closed: Callable[[], None],
        transport: Any = None,
    ) -> None:
        """`transport` is another one than the SDK's own that can do both directions at once."""
        self._settings = settings
        self._on_message = on_message
        self._on_closed = on_closed
        self._transport = transport
        self._stream: Any = None
        self._models: Any = None
        self._events: asyncio.Queue[bytes | None] = asyncio.Queue(LONGEST_BACKLOG)
        self._over = asyncio.Event()
        "nothing more will come"
        self._gone = asyncio.Event()
        "the connection is closed"
        self.answered = asyncio.Event()
        "the service has taken the stream, or refused it"
        self.closed = asyncio.Event()
        self.reason = ""

    async def open(self, url: str, headers: Mapping[str, str], seconds: float) -> None:
        """Begin the stream; `url` is another endpoint, empty for the region's own.

        Whether the service takes it is known when `answered` is set.
        """
        # In a thread: the modules take half a second once, the trusted authorities 10 ms each time.
        parts = await asyncio.to_thread(sdk)
        self._models = parts.models
        if self._transport is None:
            self._transport = await asyncio.to_thread(duplex_transport)
        begun, missing = False, "credentials of Amazon's were not found in time"
        try:
            async with asyncio.timeout(seconds):
                credentials = await self._credentials(parts)
                missing = "the stream could not be begun in time"
                await self._begin(parts, url, credentials)
            begun = True
        except TimeoutError:
            raise TimeoutError(missing) from None
        except OSError:
            raise
        except Exception as refused:  # fence: the SDK's errors have no common ancestor of their own
            raise OSError(_words(refused)) from None
        finally:
            if not begun:
                await self._transport.close()

    async def _credentials(self, parts: SDK) -> Any:
        """Find credentials where the SDK would; it would begin and never end without any."""
        chain = await parts.chain.IdentityChain.create(
            parts.identity.AWSCredentialsIdentity,
            region_override=self._settings.region,
            http_client=self._transport,
        )
        await chain.get_identity(properties={})
        return chain

    async def _begin(self, parts: SDK, url: str, credentials: Any) -> None:
        wanted = {"endpoint_uri": url} if url else {}
        resolved = await parts.config.AsyncBedrockRuntimeConfig.resolve(
            region=self._settings.region,
            transport=self._transport,
            aws_credentials_identity_resolver=credentials,
            **wanted,
        )
        asked = parts.models.InvokeModelWithBidirectionalStreamOperationInput(
            model_id=self._settings.model
        )
        client = parts.client.AsyncBedrockRuntimeClient(resolved)
        self._stream = await client.invoke_model_with_bidirectional_stream(asked)

    async def serve(self) -> None:
        """Send and receive until the stream is over; when cancelled, say goodbye first."""
        async with asyncio.TaskGroup() as group:
            answer = group.create_task(self._answer())
            tasks = [group.create_task(self._receive_all(answer))]
            tasks.append(group.create_task(self._send_all()))
            try:
                await self._over.wait()
            finally:
                await self._goodbye()
                self._tell_of_end()
                try:
                    await asyncio.shield(self._hang_up())
                except asyncio.CancelledError:
                    await self._gone.wait()
                    raise
                for task in (answer, *tasks):
                    task.cancel()

    async def _goodbye(self) -> None:
        """End the input, and give the service the time to end the rest."""
        self.close()
        try:
            async with asyncio.timeout(GOODBYE_SECONDS):
                await self._over.wait()
        except TimeoutError:
            self.reason = self.reason or "the service did not end the stream"

    def _tell_of_end(self) -> None:
        self.reason = self.reason or "the stream ended"
        self.closed.set()
        self.answered.set()
        self._on_closed()

    async def _hang_up(self) -> None:
        """Close the connection, and end the SDK's own task that feeds it, if that still runs."""
        try:
            async with asyncio.timeout(HANG_UP_SECONDS):
                await self._stream.input_stream.close()
        except Exception:  # fence: nobody reads any more; it ends with the connection
            pass
        try:
            await self._transport.close()
        finally:
            self._gone.set()

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
        try:
            while (event := await self._events.get()) is not None:
                await self._stream.input_stream.send(chunk(value=part(bytes_=event)))
            await self._stream.input_stream.close()
            await asyncio.sleep(GOODBYE_SECONDS)
            self.reason = self.reason or "the service did not end the stream"
        except Exception as broken:  # fence: what the SDK raises is its own; the call goes on
            self.reason = self.reason or _words(broken)
        self._over.set()

    async def _receive_all(self, answer: asyncio.Task[Any]) -> None:
        try:
            await asyncio.wait({answer}, timeout=self._settings.answer_seconds)
            if not answer.done():
                raise TimeoutError("Bedrock did not answer in time")
            output = answer.result()
            if isinstance(output, Exception):
                raise output
            self.answered.set()
            meter, now = Meter(BYTES), asyncio.get_running_loop().time
            while (result := await output.receive()) is not None:
                message = result.value.bytes_
                if len(message) > LONGEST_MESSAGE or meter.wait(len(message), now()):
                    raise OSError("the service sends more than anyone can hear")
                self._on_message(message)
        except Exception as broken:  # fence: what the SDK raises is its own; the call goes on
            self.reason = self.reason or _words(broken)
        self._over.set()

    async def _answer(self) -> Any:
        """Wait for the service to take the stream; give what comes out of it, or why not."""
        try:
            _, output = await self._stream.await_output()
        except Exception as refused:  # fence: for `_receive_all` to raise
            return refused
        return output


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]
