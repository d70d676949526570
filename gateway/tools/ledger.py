"""Writes that happen outside the store: entered before they begin, and how they ended."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable

import structlog

from gateway.events import Json
from gateway.plumbing.fence import is_stop
from gateway.tools.context import ToolContext, ToolFailed, Uncertain
from gateway.tools.store import Store
from gateway.tools.threads import in_thread

log = structlog.get_logger("tools")


async def entered(
    name: str,
    arguments: Json,
    context: ToolContext,
    store: Store,
    do: Callable[[], Awaitable[Json]],
) -> Json:
    """Do a write once for the context's key; what was done before is given, marked as repeated.

    `do` raises ToolFailed where certainly nothing was done; whatever else it raises leaves the
    write open in the ledger, since it may have been done. Raises Uncertain then.
    """
    key, call = context.key, context.call.call_id
    known = await in_thread(store.begin, key, call, name, arguments)
    if known is not None:
        return known
    try:
        result = await do()
    except Uncertain:
        raise
    except ToolFailed:
        await in_thread(store.release, key)
        raise
    except BaseException as raised:  # fence: a tool may break after its effect
        if is_stop(raised):
            raise
        log.warning("tool_broke", call_id=call, tool=name, error=type(raised).__name__)
        raise Uncertain from None
    try:
        await in_thread(store.finish, key, result)
    except (sqlite3.Error, ToolFailed) as broken:  # it was done, and that is what is told
        log.warning("ledger_failed", call_id=call, tool=name, error=type(broken).__name__)
    return result
