"""What the process says of itself on standard error: for the operator who runs it, not of calls.

Everything that logs, our own modules by structlog and libraries by `logging`, comes out here in
one form: coloured lines on a terminal, JSON lines elsewhere.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from gateway.log_events import Mark
from gateway.observe.cutting import Cutting
from gateway.observe.often import Often
from gateway.observe.privacy import Privacy

QUIET = ("uvicorn.access", "httpx", "httpcore", "aioice", "websockets", "twilio.http_client")
"""Libraries that would say something about every request or packet."""

PERSONAL: Mapping[str, Mark] = {
    **dict.fromkeys(("from", "to", "caller", "callee", "target"), "number"),
    **dict.fromkeys(("keys", "key", "digits"), "keys"),
    **dict.fromkeys(("text", "heard_text", "transcript", "summary", "prompt"), "words"),
    **dict.fromkeys(("arguments", "result", "data", "variables"), "tree"),
}
"""Names under which a message's fields may be personal: messages are free in what they hold."""


def speak(level: str, secrets: tuple[str, ...] = (), process: int | None = None) -> None:
    """Set the process's messages up; nothing of them is personal, and secrets are taken out.

    `process` is its number, where several serve one gateway.
    """
    privacy = Privacy("full", secrets)

    def clean(_logger: WrappedLogger, _name: str, fields: EventDict) -> EventDict:
        # The library's own bookkeeping passes as it is.
        own = {name: value for name, value in fields.items() if name.startswith("_")}
        said = {name: value for name, value in fields.items() if name not in own}
        numbered = {} if process is None else {"process": process}
        return {**numbered, **privacy.clean(Cutting().line(said), PERSONAL), **own}

    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    people = sys.stderr.isatty()
    ending: list[Processor] = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        structlog.processors.format_exc_info,  # before the cleaning: errors quote what failed
        clean,
        structlog.dev.ConsoleRenderer(colors=True)
        if people
        else structlog.processors.JSONRenderer(),
    ]
    often = Often()
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(often.filter)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=ending)
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    listen_from(level)
    structlog.configure(
        processors=[often.process, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def listen_from(level: str) -> None:
    """Pass messages on from this level up, from now on."""
    root = logging.getLogger()
    root.setLevel(level.upper())
    for name in QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
