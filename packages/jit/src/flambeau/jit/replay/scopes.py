"""Which names a function binds, and which of outside it says it writes to."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from .source import NoSource

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
#: Statements whose names are written to in a way that is followed.
_FOLLOWED = (ast.Assign, ast.AugAssign, ast.AnnAssign)


def within(node: Any, leave: Any = ()) -> Iterator[Any]:
    """What stands in a function, without what stands in functions inside it."""
    todo: list[Any] = list(node.body) if isinstance(node, ast.FunctionDef) else [node.body]
    while todo:
        each = todo.pop()
        if isinstance(each, leave):
            todo.append(each.value)
            continue
        yield each
        if isinstance(each, ast.FunctionDef | ast.Lambda):
            todo += [*each.args.defaults, *(d for d in each.args.kw_defaults if d)]
        elif isinstance(each, _COMPREHENSIONS):
            todo += [n for n in ast.walk(each) if isinstance(n, ast.NamedExpr)]
        else:
            todo += ast.iter_child_nodes(each)


def bound_names(node: Any, leave: Any = ()) -> set[str]:
    """The names that a function binds, those of functions inside it left out.

    Args:
        node: the function.
        leave: statements of which only the value counts.
    """
    arguments = node.args
    names = {arg.arg for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    names |= {arg.arg for arg in (arguments.vararg, arguments.kwarg) if arg}
    for each in within(node, leave):
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
            names.add(each.id)
        if isinstance(each, ast.ExceptHandler) and each.name:
            names.add(each.name)
        if isinstance(each, ast.FunctionDef):
            names.add(each.name)
    return names


def outside_names(node: Any, is_local: Callable[[str], bool]) -> dict[str, str]:
    """The names of outside that a function says it writes to, and what the rewritten one calls.

    Args:
        node: the function.
        is_local: whether a name belongs to one of the functions around it.
    """
    found: dict[str, str] = {}
    for each in within(node):
        if isinstance(each, ast.Global | ast.Nonlocal):
            local = [name for name in each.names if is_local(name)]
            if local and isinstance(each, ast.Global):
                raise NoSource(f"{local[0]} is a global name inside, and one of a function")
            how = "gs" if isinstance(each, ast.Global) else "fs"
            found |= {name: how for name in each.names if name not in local}
    otherwise = [name for name in bound_names(node, _FOLLOWED) if name in found]
    if otherwise:
        raise NoSource(f"{otherwise[0]} is written to in a way that is not followed")
    return found
