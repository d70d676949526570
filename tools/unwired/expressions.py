"""What an expression stands for, and what is read in it."""

from __future__ import annotations

import ast
from collections.abc import Callable

from tools.unwired.kinds import (
    NOTHING,
    SCALARS,
    UNKNOWN,
    Annotations,
    Itself,
    Kind,
    Makes,
    Many,
    One,
    Somebody,
)
from tools.unwired.program import Class, Module, Program
from tools.unwired.uses import Notebook, Uses, given_back, opened

Env = dict[str, Kind]
"""What the local names stand for."""

SAME = frozenset(
    {"replace", "copy", "deepcopy", "cast", "min", "max", "next", "anext", "reversed", "run"}
)
"""Functions that give what they are given, what it comes to, or one of what it holds."""

HOLDS = frozenset({"sorted", "list", "tuple", "set", "frozenset", "deque", "iter", "filter"})
PAIRED = frozenset({"zip", "enumerate"})

INSIDE = frozenset({"get", "get_nowait", "pop", "popleft", "setdefault", "result", "decode"})
"""Methods of what holds others that give one of them."""

ALIKE = frozenset({"values", "copy"})
PAIRS = frozenset({"items", "popitem"})


class Expressions:
    """Reads expressions of one module at a time; every reading is noted."""

    def __init__(self, program: Program, annotations: Annotations, notes: Notebook) -> None:
        self.module = ""
        "where the names are looked for"
        self._program = program
        self._annotations = annotations
        self._notes = notes

    def kind(self, node: ast.expr, env: Env) -> Kind:
        """Return what an expression stands for; note on the way what is read in it."""
        how: Callable[[ast.expr, Env], Kind] = getattr(
            self, f"_{type(node).__name__.lower()}", self._others
        )
        return how(node, env)

    def quiet(self, node: ast.expr, env: Env) -> Kind:
        """Return what an expression stands for, and note nothing."""
        kept, self._notes.uses = self._notes.uses, Uses()
        try:
            return self.kind(node, dict(env))
        finally:
            self._notes.uses = kept

    def annotation(self, node: ast.expr | None) -> Kind:
        """Return the kind that an annotation names."""
        return self._annotations.read(node, self.module)

    def inside(self, kind: Kind) -> Kind:
        """Return what is in something that holds others."""
        found = NOTHING
        for each in kind:
            match each:
                case Many(of=inner):
                    found |= inner
                case Somebody():
                    found |= UNKNOWN
                case One(of=cls):
                    given = self._notes.member(cls, "__getitem__")
                    given |= self._notes.member(cls, "__iter__")
                    found |= NOTHING.union(*(one.of for one in given if isinstance(one, Makes)))
                case _:
                    pass
        return found

    def member(self, kind: Kind, name: str) -> Kind:
        """Note that a field is read; give what is in it."""
        found = NOTHING
        for each in kind:
            match each:
                case One(of=cls) | Itself(of=cls):
                    found |= self._notes.member(cls, name)
                case Somebody():
                    self._notes.uses.anywhere.add(name)
                    found |= UNKNOWN
                case Many(of=inner):
                    found |= _of_container(each, inner, name)
                case _:
                    pass
        return found

    def narrowed(self, test: ast.expr) -> Env:
        """Return what a condition says of local names."""
        match test:
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), classes]):
                told = self.quiet(classes, {})
                found = frozenset(One(each.of) for each in told if isinstance(each, Itself))
                return {name: found} if found else {}
            case ast.BoolOp(op=ast.And(), values=values):
                return {k: v for each in values for k, v in self.narrowed(each).items()}
            case _:
                return {}

    def bind(self, target: ast.expr, kind: Kind, env: Env) -> None:
        """Assign a kind to what stands on the left."""
        match target:
            case ast.Name(id=name):
                env[name] = kind
            case ast.Tuple(elts=several) | ast.List(elts=several):
                for each in several:
                    self.bind(each, self.inside(kind), env)
            case ast.Starred(value=value):
                self.bind(value, kind, env)
            case ast.Attribute(value=value, attr=name):
                for one in self.kind(value, env):
                    if isinstance(one, One):
                        self._notes.given(one.of, name)
            case ast.Subscript(value=value, slice=inner):
                self.kind(value, env)
                self.kind(inner, env)
            case _:
                pass

    # --- one kind of expression each ------------------------------------------------------------

    def _name(self, node: ast.Name, env: Env) -> Kind:
        return env[node.id] if node.id in env else self._global(node.id)

    def _attribute(self, node: ast.Attribute, env: Env) -> Kind:
        if isinstance(node.value, ast.Name) and node.value.id not in env:
            module = self._program.find(self.module, node.value.id)
            if isinstance(module, Module):
                return self._in(module.name, lambda: self._global(node.attr))
        return self.member(self.kind(node.value, env), node.attr)

    def _subscript(self, node: ast.Subscript, env: Env) -> Kind:
        self.kind(node.slice, env)
        kind = self.kind(node.value, env)
        return kind if isinstance(node.slice, ast.Slice) else self.inside(kind)

    def _await(self, node: ast.Await | ast.Starred, env: Env) -> Kind:
        return self.kind(node.value, env)

    _starred = _await

    def _namedexpr(self, node: ast.NamedExpr, env: Env) -> Kind:
        env[node.target.id] = self.kind(node.value, env)
        return env[node.target.id]

    def _boolop(self, node: ast.BoolOp, env: Env) -> Kind:
        found, known = NOTHING, env
        for each in node.values:
            found |= self.kind(each, known)
            if isinstance(node.op, ast.And) and (told := self.narrowed(each)):
                known = {**known, **told}
        return found

    def _ifexp(self, node: ast.IfExp, env: Env) -> Kind:
        self.kind(node.test, env)
        told = {**env, **self.narrowed(node.test)}
        return self.kind(node.body, told) | self.kind(node.orelse, env)

    def _tuple(self, node: ast.Tuple | ast.List | ast.Set, env: Env) -> Kind:
        return frozenset({Many(NOTHING.union(*(self.kind(each, env) for each in node.elts)))})

    _list = _set = _tuple

    def _dict(self, node: ast.Dict, env: Env) -> Kind:
        for key in node.keys:
            if key is not None:
                self.kind(key, env)
        return frozenset({Many(NOTHING.union(*(self.kind(each, env) for each in node.values)))})

    def _listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, env: Env) -> Kind:
        return frozenset({Many(self.kind(node.elt, self._for(node.generators, env)))})

    _setcomp = _generatorexp = _listcomp

    def _dictcomp(self, node: ast.DictComp, env: Env) -> Kind:
        inner = self._for(node.generators, env)
        self.kind(node.key, inner)
        return frozenset({Many(self.kind(node.value, inner))})

    def _for(self, generators: list[ast.comprehension], env: Env) -> Env:
        env = dict(env)
        for each in generators:
            self.bind(each.target, self.inside(self.kind(each.iter, env)), env)
            for test in each.ifs:
                self.kind(test, env)
                env.update(self.narrowed(test))
        return env

    def _lambda(self, node: ast.Lambda, env: Env) -> Kind:
        inner = {each.arg: UNKNOWN for each in (*node.args.args, *node.args.kwonlyargs)}
        return frozenset({Makes(self.kind(node.body, {**env, **inner}))})

    def _binop(self, node: ast.BinOp, env: Env) -> Kind:
        return self.kind(node.left, env) | self.kind(node.right, env)

    def _call(self, node: ast.Call, env: Env) -> Kind:
        name = ast.unparse(node.func).rpartition(".")[2]
        does = self.kind(node.func, env)
        arguments = [self.kind(each, env) for each in node.args]
        several = self.inside(arguments[0]) if arguments else UNKNOWN
        named = [self._named(each, several, env) for each in node.keywords]
        self._notes.called(node, name, does, arguments, named)
        given = [*arguments, *named]
        if not does:
            return self._of_stranger(name, given)
        found = NOTHING
        for each in does:
            match each:
                case Itself(of=cls):
                    found |= {One(cls)}
                case Makes(of=kind):
                    found |= given_back(given) if kind == UNKNOWN else kind
                case Somebody():
                    found |= UNKNOWN
                case _:
                    pass
        return found

    def _named(self, node: ast.keyword, several: Kind, env: Env) -> Kind:
        """Return what a named argument is; a sorting asks its `key` about each of `several`."""
        match node:
            case ast.keyword(
                arg="key", value=ast.Lambda(args=ast.arguments(args=[one]), body=body)
            ):
                return frozenset({Makes(self.kind(body, {**env, one.arg: several}))})
            case _:
                return self.kind(node.value, env)

    def _others(self, node: ast.expr, env: Env) -> Kind:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.kind(child, env)
        return NOTHING

    # --- names and functions of others ------------------------------------------------------------

    def _of_stranger(self, name: str, given: list[Kind]) -> Kind:
        """Return what a function gives that is not the product's own."""
        if name in SAME:
            within = [] if name == "replace" else [self.inside(each) for each in given[:1]]
            return NOTHING.union(*given, *within)
        if name in HOLDS:
            return NOTHING.union(*given)
        if name == "map":
            made = (each.of for kind in given[:1] for each in kind if isinstance(each, Makes))
            return frozenset({Many(NOTHING.union(*made))})
        if name == "partial":
            return given[0] if given else NOTHING
        if name in PAIRED or name in ("chain", "from_iterable"):
            inner = NOTHING.union(*(self.inside(each) for each in given))
            return frozenset({Many(frozenset({Many(inner)}) if name in PAIRED else inner)})
        if name in SCALARS:
            return NOTHING
        # A parser of a library's makes what it is told to make.
        told = (each for kind in given for each in opened(kind))
        return frozenset(One(each.of) for each in told if isinstance(each, Itself))

    def _global(self, name: str) -> Kind:
        home = self._program.home(self.module, name)
        match self._program.find(self.module, name):
            case Class() as cls:
                return frozenset({Itself(cls)})
            case ast.FunctionDef(returns=returns) | ast.AsyncFunctionDef(returns=returns):
                return frozenset({Makes(self._annotations.read(returns, home))})
            case ast.AnnAssign(annotation=annotation):
                return self._annotations.read(annotation, home)
            case ast.Assign(value=value):
                return self._in(home, lambda: self.quiet(value, {}))
            case _:
                return NOTHING

    def _in(self, module: str, what: Callable[[], Kind]) -> Kind:
        """Look for names in another module for a moment."""
        here, self.module = self.module, module
        try:
            return what()
        finally:
            self.module = here


def _of_container(each: Many, inner: Kind, name: str) -> Kind:
    if name in PAIRS:
        return frozenset({Makes(frozenset({Many(frozenset({Many(inner)}))}))})
    if name in INSIDE:
        return frozenset({Makes(inner)})
    return frozenset({Makes(frozenset({each}))}) if name in ALIKE else NOTHING
