"""The strings under the fields of a class, which pages and schemas are made of."""

from __future__ import annotations

import ast
import inspect
import textwrap


def field_docs(kind: type) -> dict[str, str]:
    """Return the string under each field of a class, on one line."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    found: dict[str, str] = {}
    name = ""
    for part in tree.body[0].body:  # type: ignore[attr-defined]
        match part:
            case ast.AnnAssign(target=ast.Name(id=name)):
                pass
            case ast.Expr(value=ast.Constant(value=str(text))) if name:
                found[name] = " ".join(text.split())
            case _:
                name = ""
    return found
