"""The source of a function as a tree, where it is certain that it is the function's source."""

from __future__ import annotations

import ast
import linecache
from functools import cache
from types import CodeType, FunctionType
from typing import Any

Tree = ast.FunctionDef | ast.Lambda


class NoSource(Exception):
    """There is no source, or it is not that of the function."""


@cache
def _module(filename: str, text: str) -> tuple[ast.Module, frozenset[CodeType]]:
    """The tree of a file, and the code that it compiles to."""
    try:
        tree = ast.parse(text, filename)
        todo = [compile(text, filename, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError) as error:
        raise NoSource(f"{filename} cannot be read as Python") from error
    found = set()
    while todo:
        code = todo.pop()
        found.add(code)
        todo += [each for each in code.co_consts if isinstance(each, CodeType)]
    return tree, frozenset(found)


def tree_of(fn: FunctionType) -> tuple[Tree, str]:
    """The function's definition, and the name of the class around it or an empty text.

    Raises:
        NoSource: it is not known, or changed since the function was made.
    """
    code = fn.__code__
    text = "".join(linecache.getlines(code.co_filename, fn.__globals__))
    if not text:
        raise NoSource(f"the source of {fn.__qualname__}() is not known")
    tree, codes = _module(code.co_filename, text)
    if code not in codes:
        raise NoSource(f"{code.co_filename} is not what {fn.__qualname__}() was made from")
    found = [(node, around) for node, around in _functions(tree) if _is_of(node, code)]
    if len(found) != 1:
        raise NoSource(f"the source of {fn.__qualname__}() is not certain")
    return found[0]


def _functions(tree: ast.Module) -> list[tuple[Any, str]]:
    """All functions of a module with the class each stands in."""
    found = []
    todo: list[tuple[ast.AST, str]] = [(tree, "")]
    while todo:
        node, around = todo.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.Lambda)):
                found.append((child, around))
            inner = child.name if isinstance(child, ast.ClassDef) else around
            todo.append((child, inner))
    return found


def _is_of(node: Any, code: CodeType) -> bool:
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        return node.name == code.co_name and first == code.co_firstlineno
    if code.co_name != "<lambda>" or node.lineno != code.co_firstlineno:
        return False
    spans = [(line, start, last, end) for line, last, start, end in code.co_positions()
             if None not in (line, start, last, end) and (line, start) != (last, end)]
    if not spans:
        return False
    # A lambda that is the body of another ends where that one ends, but begins later.
    body = node.body
    return (min(s[:2] for s in spans), max(s[2:] for s in spans)) == (
        (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset))
