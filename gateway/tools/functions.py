"""Python functions as tools: what they are called with is read from their type hints."""

from __future__ import annotations

import inspect
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, TypeVar, get_type_hints

import msgspec

from gateway.events import Json
from gateway.plumbing.wire_json import clean
from gateway.ports import ToolSpec
from gateway.tools.bounds import cut
from gateway.tools.context import ToolContext, ToolFailed
from gateway.tools.ledger import entered
from gateway.tools.loops import LOOPS
from gateway.tools.store import Store
from gateway.tools.threads import in_thread

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__parley_tool__"


@dataclass(frozen=True, slots=True)
class Manners:
    """How a tool behaves, as its author says; an agent's file may say otherwise."""

    effect: Literal["read", "write"] = "read"
    timeout: float = 10.0
    "seconds"
    filler: str = ""
    confirm: bool = False
    say: str = ""
    "what the caller is asked before it is done, made of its arguments"


def tool(
    *,
    effect: Literal["read", "write"] = "read",
    timeout: float = 10.0,
    filler: str = "",
    confirm: bool = False,
    say: str = "",
) -> Callable[[F], F]:
    """Return how a function behaves as a tool.

    Its parameters become the tool's arguments, described by `Annotated[..., Meta(description=)]`;
    one of the kind `ToolContext` is given the call, one of the kind `sqlite3.Connection` a
    transaction of the agent's store, in which a write and its entry in the ledger are one deed.
    """

    def mark(function: F) -> F:
        setattr(function, _MARK, Manners(effect, timeout, filler, confirm, say))
        return function

    return mark


@dataclass(frozen=True)
class FunctionTool:
    """One function, ready to be called by a model."""

    function: Callable[..., Any]
    spec: ToolSpec

    @cached_property
    def _shape(self) -> _Shape:
        return _shape(self.function)

    def expect(self) -> None:
        """Return at once: it is ready."""

    async def run(self, arguments: Json, context: ToolContext, store: Store) -> Json:
        """Call the function; raise ToolFailed for what it cannot do."""
        given = self._shape.convert(arguments)
        if self._shape.context:
            given[self._shape.context] = context
        write = self.spec.effect == "write"
        if self._shape.connection:
            return await in_thread(self._in_store, given, arguments, context, store)
        if not write:
            return await self._call(given)
        return await entered(self.spec.name, arguments, context, store, lambda: self._call(given))

    async def close(self) -> None:
        """Return at once: what a function opens is its own."""

    async def _call(self, given: Mapping[str, Any]) -> Json:
        call = partial(self.function, **given)
        if inspect.iscoroutinefunction(self.function):

            async def in_loop() -> Json:
                return plain(await call())

            return await LOOPS.run(in_loop)
        return await in_thread(lambda: plain(call()))

    def _in_store(
        self, given: Mapping[str, Any], arguments: Json, context: ToolContext, store: Store
    ) -> Json:
        def work(connection: sqlite3.Connection) -> Json:
            return plain(self.function(**given, **{self._shape.connection: connection}))

        if self.spec.effect == "write":
            call = context.call.call_id
            return store.once(context.key, call, self.spec.name, arguments, work)
        return store.read(work)


def function_tool(function: Callable[..., Any], name: str = "", **changes: Any) -> FunctionTool:
    """Make a tool of a function; `changes` replace what its author said of its manners."""
    manners: Manners = replace(getattr(function, _MARK, Manners()), **changes)
    spec = ToolSpec(
        name or function.__name__,
        inspect.cleandoc(function.__doc__ or "").split("\n\n")[0].replace("\n", " "),
        _shape(function).schema,
        manners.effect,
        manners.timeout,
        manners.filler,
        manners.confirm,
        manners.say,
    )
    return FunctionTool(function, spec)


def plain(result: object) -> Json:
    """Make a JSON object of what a function gave, cut where it is too long."""
    built = clean(msgspec.to_builtins(result, str_keys=True))
    return cut(built if isinstance(built, dict) else {"result": built})


@dataclass(frozen=True, slots=True)
class _Shape:
    """A function's parameters."""

    model: type[msgspec.Struct]
    schema: Json
    context: str
    "name of the parameter that takes the context; empty: none does"
    connection: str

    def convert(self, arguments: Json) -> dict[str, Any]:
        """Check a model's arguments; raise ToolFailed with words the model can mend them by."""
        try:
            made = msgspec.convert(arguments, self.model, strict=False)
        except msgspec.ValidationError as error:
            raise ToolFailed("bad_arguments", str(error)) from None
        return {name: getattr(made, name) for name in self.model.__struct_fields__}


def _shape(function: Callable[..., Any]) -> _Shape:
    hints = get_type_hints(function, include_extras=True)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    special = {ToolContext: "", sqlite3.Connection: ""}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints.get(name, str)
        if hint in special:
            special[hint] = name
        elif parameter.default is inspect.Parameter.empty:
            fields.append((name, hint))
        else:
            fields.append((name, hint, parameter.default))
    model = msgspec.defstruct(function.__name__, fields, forbid_unknown_fields=True, kw_only=True)
    (_,), definitions = msgspec.json.schema_components([model])
    schema = dict(definitions.pop(function.__name__))
    schema.pop("title", None)
    if definitions:
        schema["$defs"] = definitions
    return _Shape(model, schema, special[ToolContext], special[sqlite3.Connection])
