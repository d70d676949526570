"""Goes through the statements of a module, with what each local name stands for."""

from __future__ import annotations

import ast
from collections.abc import Callable

from tools.unwired.expressions import Env, Expressions
from tools.unwired.kinds import NOTHING, Annotations, Itself, Kind, Makes, Many, One
from tools.unwired.program import Class, Code, Module, Program
from tools.unwired.uses import Notebook, Uses

Block = list[ast.stmt]


class Reader:
    """Reads modules; knows what each name stands for, as far as annotations tell."""

    def __init__(self, program: Program) -> None:
        annotations = Annotations(program)
        self._notes = Notebook(program, annotations)
        self._expressions = Expressions(program, annotations, self._notes)
        self._program = program

    @property
    def uses(self) -> Uses:
        """What was noted so far."""
        return self._notes.uses

    def go_through(self, module: Module) -> None:
        """Note every use in a module."""
        self._expressions.module = module.name
        self._block(module.tree.body, {})

    def learn(self, module: Module) -> None:
        """Learn what the attributes of a module's classes are, from what is assigned to `self`."""
        known = self._notes.attributes
        self._expressions.module = module.name
        for cls in module.classes.values():
            for method in cls.methods.values():
                env = self._parameters(method, cls)
                for node in ast.walk(method):
                    match node:
                        case ast.Assign(
                            targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)],
                            value=value,
                        ):
                            kind = self._expressions.quiet(value, env)
                        case ast.AnnAssign(
                            target=ast.Attribute(value=ast.Name(id="self"), attr=name),
                            annotation=annotation,
                        ):
                            kind = self._expressions.annotation(annotation)
                        case _:
                            continue
                    key = (cls.module, cls.name, name)
                    known[key] = known.get(key, NOTHING) | kind

    # --- statements --------------------------------------------------------------------------

    def _block(self, body: Block, env: Env, cls: Class | None = None) -> None:
        for node in body:
            how: Callable[[ast.stmt, Env, Class | None], None] = getattr(
                self, f"_{type(node).__name__.lower()}", self._others
            )
            how(node, env, cls)

    def _functiondef(self, node: Code, env: Env, cls: Class | None) -> None:
        for each in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if each is not None:
                self._expressions.kind(each, env)
        env[node.name] = frozenset({Makes(self._expressions.annotation(node.returns))})
        self._block(node.body, {**env, **self._parameters(node, cls)})

    _asyncfunctiondef = _functiondef

    def _classdef(self, node: ast.ClassDef, env: Env, _: Class | None) -> None:
        for each in (*node.decorator_list, *node.bases):
            if not isinstance(each, ast.Name):
                self._expressions.kind(each, env)
        found = self._program.modules[self._expressions.module].classes.get(node.name)
        self._block(node.body, dict(env), found)

    def _assign(self, node: ast.Assign, env: Env, _: Class | None) -> None:
        kind = self._expressions.kind(node.value, env)
        for target in node.targets:
            self._expressions.bind(target, kind, env)

    def _annassign(self, node: ast.AnnAssign, env: Env, _: Class | None) -> None:
        if node.value is not None:
            self._expressions.kind(node.value, env)
        self._expressions.bind(node.target, self._expressions.annotation(node.annotation), env)

    def _augassign(self, node: ast.AugAssign, env: Env, _: Class | None) -> None:
        self._expressions.kind(node.value, env)
        self._expressions.bind(node.target, self._expressions.kind(node.target, env), env)

    def _for(self, node: ast.For | ast.AsyncFor, env: Env, cls: Class | None) -> None:
        several = self._expressions.kind(node.iter, env)
        self._expressions.bind(node.target, self._expressions.inside(several), env)
        self._block([*node.body, *node.orelse], env, cls)

    _asyncfor = _for

    def _with(self, node: ast.With | ast.AsyncWith, env: Env, cls: Class | None) -> None:
        for item in node.items:
            kind = self._expressions.kind(item.context_expr, env)
            if item.optional_vars is not None:
                self._expressions.bind(item.optional_vars, kind, env)
        self._block(node.body, env, cls)

    _asyncwith = _with

    def _if(self, node: ast.If, env: Env, cls: Class | None) -> None:
        self._expressions.kind(node.test, env)
        inner = {**env, **self._expressions.narrowed(node.test)}
        self._block(node.body, inner, cls)
        self._block(node.orelse, env, cls)
        for name, kind in inner.items():  # what a branch assigned may be so after it
            env[name] = env.get(name, NOTHING) | kind

    def _match(self, node: ast.Match, env: Env, cls: Class | None) -> None:
        subject = self._expressions.kind(node.subject, env)
        name = node.subject.id if isinstance(node.subject, ast.Name) else ""
        for case in node.cases:
            inner = dict(env)
            told = self._pattern(case.pattern, subject, inner)
            if name:
                inner[name] = told
            if case.guard is not None:
                self._expressions.kind(case.guard, inner)
            self._block(case.body, inner, cls)
            for each, kind in inner.items():
                if each != name:
                    env[each] = env.get(each, NOTHING) | kind

    def _others(self, node: ast.AST, env: Env, cls: Class | None) -> None:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.stmt():
                    self._block([child], env, cls)
                case ast.expr():
                    self._expressions.kind(child, env)
                case ast.ExceptHandler(name=name, type=kind):
                    if name and kind is not None:
                        caught = self._expressions.quiet(kind, env)
                        env[name] = frozenset(
                            One(each.of) for each in caught if isinstance(each, Itself)
                        )
                    self._others(child, env, cls)
                case _:
                    pass

    # --- patterns and parameters ------------------------------------------------------------------

    def _pattern(self, pattern: ast.pattern, subject: Kind, env: Env) -> Kind:
        """Note what a pattern reads; give what it lets through."""
        match pattern:
            case ast.MatchClass():
                return self._class_pattern(pattern, env)
            case ast.MatchAs(pattern=inner, name=name):
                told = subject if inner is None else self._pattern(inner, subject, env)
                if name is not None:
                    env[name] = told
                return told
            case ast.MatchOr(patterns=several):
                return NOTHING.union(*(self._pattern(each, subject, env) for each in several))
            case ast.MatchSequence(patterns=several):
                for each in several:
                    self._pattern(each, self._expressions.inside(subject), env)
                return subject
            case ast.MatchValue(value=value):
                self._expressions.kind(value, env)
                return subject
            case _:
                for child in ast.walk(pattern):
                    if isinstance(child, ast.MatchAs | ast.MatchStar) and child.name:
                        env[child.name] = NOTHING
                return subject

    def _class_pattern(self, pattern: ast.MatchClass, env: Env) -> Kind:
        named = self._expressions.quiet(pattern.cls, env)
        classes = [each.of for each in named if isinstance(each, Itself)]
        told: Kind = frozenset(One(each) for each in classes)
        for each in classes:
            self._notes.met(each)
        ordered = list(classes[0].fields) if classes else []
        parts = [
            *zip(ordered, pattern.patterns, strict=False),
            *zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True),
        ]
        for name, part in parts:
            wild = isinstance(part, ast.MatchAs) and part.name is None and part.pattern is None
            if not wild:
                self._pattern(part, self._expressions.member(told, name), env)
        return told

    def _parameters(self, node: Code, cls: Class | None) -> Env:
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        env = {each.arg: self._expressions.annotation(each.annotation) for each in arguments}
        if node.args.vararg is not None:
            several = self._expressions.annotation(node.args.vararg.annotation)
            env[node.args.vararg.arg] = frozenset({Many(several)})
        if cls is not None and arguments and arguments[0].annotation is None:
            decorators = {ast.unparse(each) for each in node.decorator_list}
            made = Itself(cls) if "classmethod" in decorators else One(cls)
            env[arguments[0].arg] = frozenset({made})
        return env
