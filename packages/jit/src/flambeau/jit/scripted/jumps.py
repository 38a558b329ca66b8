"""``break``, ``continue`` and ``return`` in loops as variables that say whether to go on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

LOOPS = (ast.For, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


class Unsupported(Exception):
    """A function keeps its own code: Python decides in it, and values that it asks for raise."""


def statements_in(body: list[Any], into_loops: bool) -> Iterator[Any]:
    """All statements below a body, those of functions inside left out."""
    for statement in body:
        yield statement
        if isinstance(statement, _SCOPES) or (not into_loops and isinstance(statement, LOOPS)):
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from statements_in(getattr(statement, name, []), into_loops)
        for handler in getattr(statement, "handlers", []):
            yield from statements_in(handler.body, into_loops)


def has(body: list[Any], kinds: Any, into_loops: bool = False) -> bool:
    """Whether one of the kinds of statements is in a body."""
    return any(isinstance(each, kinds) for each in statements_in(body, into_loops))


def assign(name: str, value: ast.expr, at: Any) -> ast.stmt:
    """``name = value``."""
    made = ast.Assign([ast.Name(name, ast.Store())], value)
    return ast.fix_missing_locations(ast.copy_location(made, at))


class Jumps:
    """Rewrites the loops of one function, the inner ones first.

    Args:
        made: how names that the function does not have begin.
    """

    def __init__(self, made: str) -> None:
        self.made = made
        self.count = 0

    def block(self, body: list[Any]) -> list[Any]:
        """A body whose loops have no jumps."""
        found: list[Any] = []
        for statement in body:
            if isinstance(statement, LOOPS):
                found += self.loop(statement)
                continue
            if not isinstance(statement, _SCOPES):
                for name in ("body", "orelse", "finalbody"):
                    if getattr(statement, name, None):
                        setattr(statement, name, self.block(getattr(statement, name)))
                for handler in getattr(statement, "handlers", []):
                    handler.body = self.block(handler.body)
            found.append(statement)
        return found

    def loop(self, node: Any) -> list[Any]:
        """A loop without jumps, with what goes before and after it."""
        if node.orelse:
            raise Unsupported("a loop with else")
        returns = has(node.body, ast.Return, into_loops=True)
        if not returns and not has(node.body, (ast.Break, ast.Continue)):
            node.body = self.block(node.body)
            return [node]
        self.count += 1
        names = {what: f"{self.made}{what}{self.count}" for what in ("end", "next", "out", "value")}
        body = self.block(node.body)
        skips = has(body, ast.Continue)
        body = self.guarded(body, names)
        node.body = ([assign(names["next"], ast.Constant(False), node)] if skips else []) + body
        node.stop = names["end"]
        before = [assign(names["end"], ast.Constant(False), node)]
        after: list[Any] = []
        if returns:
            before.append(assign(names["out"], ast.Constant(False), node))
            value = ast.Return(ast.Name(names["value"], ast.Load()))
            out = ast.If(ast.Name(names["out"], ast.Load()), [value], [])
            after.append(ast.fix_missing_locations(ast.copy_location(out, node)))
        return [*before, node, *after]

    def guarded(self, body: list[Any], names: dict[str, str]) -> list[Any]:
        """Statements of which those behind a jump run only where none was made."""
        found: list[Any] = []
        for i, statement in enumerate(body):
            flags = self.jump(statement, names, found)
            if flags is None:
                continue
            if flags == "all":
                return found
            rest = self.guarded(body[i + 1:], names)
            if rest:
                test: ast.expr = ast.UnaryOp(ast.Not(), ast.Name(names["end"], ast.Load()))
                if "next" in flags:
                    skip = ast.UnaryOp(ast.Not(), ast.Name(names["next"], ast.Load()))
                    test = ast.BoolOp(ast.And(), [test, skip])
                made = ast.If(test, rest, [])
                found.append(ast.fix_missing_locations(ast.copy_location(made, rest[0])))
            return found
        return found

    def jump(self, statement: Any, names: dict[str, str], found: list[Any]) -> str | None:
        """Append a statement without its jumps; which flags it may set."""
        if isinstance(statement, ast.Break | ast.Continue):
            what = "end" if isinstance(statement, ast.Break) else "next"
            found.append(assign(names[what], ast.Constant(True), statement))
            return "all"
        if isinstance(statement, ast.Return):
            value = statement.value or ast.Constant(None)
            found.append(assign(names["value"], value, statement))
            found.append(assign(names["out"], ast.Constant(True), statement))
            found.append(assign(names["end"], ast.Constant(True), statement))
            return "all"
        kinds = (ast.Break, ast.Continue, ast.Return)
        found.append(statement)
        if isinstance(statement, LOOPS) or not has([statement], kinds):
            return None
        if not isinstance(statement, ast.If):
            raise Unsupported("a jump out of with or try")
        flags = "end" + (" next" if has([statement], ast.Continue) else "")
        statement.body = self.guarded(statement.body, names)
        statement.orelse = self.guarded(statement.orelse, names)
        return flags
