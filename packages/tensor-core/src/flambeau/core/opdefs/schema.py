"""Schemas: ``"add(Operand self, Operand other, *, Scalar alpha=1) -> Tensor"``."""
from __future__ import annotations

import ast
import re
from functools import cache

from flambeau.core.opdefs.opdef import ROLES, Param

_HEAD = re.compile(r"^([\w.]+?)(?:\[(\w+)\])?\((.*?)\)(?:\s*->\s*(.+))?$", re.S)
_GROUPS = frozenset("'\"()[]")
_PARAM = re.compile(r"^(\w+)(\(!\))?(\?)?(\*)?\s+(\w+)(?:\s*=\s*(.+))?$")


def parse_schema(text: str) -> tuple[str, str, tuple[Param, ...], tuple[str, ...], bool]:
    """Read a schema.

    Args:
        text: ``name[overload](Role name=default, *, Role? name=None) -> Tensor a, Tensor b``.
            ``Tensors* name`` may also be given as several arguments.

    Returns:
        name, overload, parameters, names of the outputs, whether the output is a list.

    Raises:
        ValueError: the text is not a schema; the message shows the part that is wrong.

    Example:
        >>> parse_schema("exp(Operand self)")[0]
        'exp'
    """
    match = _HEAD.match(text.strip())
    if match is None:
        raise ValueError(f"not a schema: {text!r}; write e.g. 'exp(Operand self) -> Tensor'")
    name, overload, inside, returns = match.groups()
    params = tuple(_parse_params(inside, text))
    outputs, is_list = _parse_outputs(returns or "Tensor")
    return name, overload or "", params, outputs, is_list


def _parse_outputs(text: str) -> tuple[tuple[str, ...], bool]:
    if text.strip() == "Tensors":
        return ("result",), True
    names = []
    for i, part in enumerate(text.strip().strip("()").split(",")):
        words = part.split()
        names.append(words[1] if len(words) > 1 else f"result{i}" if "," in text else "result")
    return tuple(names), False


def _parse_params(inside: str, text: str):
    keyword = False
    for part in _split(inside):
        if part == "*":
            keyword = True
            continue
        match = _PARAM.match(part)
        if match is None or match.group(1) not in ROLES:
            raise ValueError(f"in schema {text!r}: cannot read {part!r}; roles: {sorted(ROLES)}")
        role, writes, optional, variadic, name, default = match.groups()
        value = _default(default) if default is not None else ...
        yield Param(name, role, bool(optional), keyword, value, bool(writes),
                    bool(variadic))


@cache
def _default(text: str):
    return ast.literal_eval(text)


def _split(inside: str):
    """Split at commas outside brackets and quotes."""
    if not _GROUPS.intersection(inside):
        yield from filter(None, map(str.strip, inside.split(",")))
        return
    depth, start, quote = 0, 0, ""
    for i, c in enumerate(inside):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "," and depth == 0:
            yield inside[start:i].strip()
            start = i + 1
    last = inside[start:].strip()
    if last:
        yield last
