"""Tools that the caller's own page does: filling a form, showing a picture, a basket."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.events import Json
from gateway.plumbing.wire_json import clean
from gateway.ports import PageFailed, ToolSpec
from gateway.tools.bounds import cut
from gateway.tools.context import ToolContext, ToolFailed
from gateway.tools.ledger import entered
from gateway.tools.store import Store


@dataclass(frozen=True, slots=True)
class PageTool:
    """A function of the page, declared in the agent's file: the page adds none by itself."""

    spec: ToolSpec

    def expect(self) -> None:
        """Return at once: the page is there, or is not."""

    async def run(self, arguments: Json, context: ToolContext, store: Store) -> Json:
        """Have the page do it; raise ToolFailed where there is no page, or it cannot."""
        if context.page is None:
            raise ToolFailed("no_page", "The caller is not on a page.")
        if self.spec.effect == "read":
            try:
                return await self._use(arguments, context)
            except OSError:
                raise ToolFailed("no_page", "The caller has left the page.") from None
        name = self.spec.name
        return await entered(name, arguments, context, store, lambda: self._use(arguments, context))

    async def close(self) -> None:
        """Return at once: nothing is open."""

    async def _use(self, arguments: Json, context: ToolContext) -> Json:
        assert context.page is not None
        try:
            result = clean(await context.page.use(self.spec.name, arguments))
        except PageFailed as failed:
            raise ToolFailed("failed", str(failed)) from None
        return cut(result if isinstance(result, dict) else {"result": result})
