"""PyTorch's text form of signatures: ``"(Tensor x, *, float alpha=1.0) -> Tensor"``."""
from __future__ import annotations

import ast
import functools
import inspect
import operator
import re
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import flambeau

_HEAD = re.compile(r"^\s*(?:([\w]+)::)?(\w*)(?:\.(\w+))?\s*\((.*)\)\s*->\s*(.+?)\s*$", re.S)
_ARGUMENT = re.compile(
    r"^([A-Za-z]\w*)((?:\([^)]*\)|!)?)([\[\]\d?]*)((?:\([^)]*\))?)(\??)\s*(\w*)(?:\s*=\s*(.+))?$",
    re.S)
_WORDS = {"Mean": 1, "Sum": 2, "contiguous_format": "contiguous_format"}
_PLAIN = {"Tensor": flambeau.Tensor, "SymInt": int, "int": int, "float": (float, int),
          "bool": bool, "str": str, "Scalar": (int, float, complex, bool),
          "ScalarType": flambeau.dtype, "Device": (flambeau.device, str)}


@dataclass
class AliasInfo:
    """Whether an argument is written to."""

    is_write: bool


@dataclass
class Argument:
    """A parameter, or a result."""

    name: str
    type: str
    default_value: Any = None
    has_default: bool = False
    kwarg_only: bool = False
    alias_info: AliasInfo | None = None

    @property
    def is_write(self) -> bool:
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def is_out(self) -> bool:
        return self.is_write and self.kwarg_only

    @property
    def size(self) -> int | None:
        """How many numbers a list has by its type, such as ``int[2]``."""
        match = re.search(r"\[(\d+)\]", self.type)
        return int(match.group(1)) if match else None

    def has_default_value(self) -> bool:
        return self.has_default

    def __str__(self) -> str:
        head, mark = self.type, "(a!)" if self.is_write else ""
        base = re.match(r"\w*", head).group()      # type: ignore[union-attr]
        text = f"{base}{mark}{head[len(base):]} {self.name}".strip()
        if not self.has_default:
            return text
        value = self.default_value
        of_one = self.size is not None and isinstance(value, list) and value[1:] == value[:-1]
        return f"{text}={_shown(value[0] if of_one and value else value)}"


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


@dataclass
class FunctionSchema:
    """The signature of an operator."""

    name: str
    overload_name: str
    arguments: list[Argument]
    returns: list[Argument]

    @property
    def is_mutable(self) -> bool:
        return any(argument.is_write for argument in self.arguments)

    def __str__(self) -> str:
        parts, starred = [], False
        for argument in self.arguments:
            if argument.kwarg_only and not starred:
                parts.append("*")
                starred = True
            parts.append(str(argument))
        given = [str(result) for result in self.returns]
        result = given[0] if len(given) == 1 else f"({', '.join(given)})"
        dot = f".{self.overload_name}" if self.overload_name else ""
        return f"{self.name}{dot}({', '.join(parts)}) -> {result}"

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...],
                                                                         dict[str, Any]]:
        """Arguments of a call in the schema's order, with defaults, and the keyword-only ones."""
        positional = [a for a in self.arguments if not a.kwarg_only]
        if len(args) > len(positional):
            raise RuntimeError(f"{self.name}() expected at most {len(positional)} argument(s) but "
                               f"received {len(args)} argument(s). Declaration: {self}")
        left = dict(kwargs)
        values, named = [], {}
        for number, argument in enumerate(self.arguments):
            if number < len(args) and not argument.kwarg_only:
                value = args[number]
            elif argument.name in left:
                value = left.pop(argument.name)
            elif argument.has_default:
                value = argument.default_value
            else:
                raise RuntimeError(f"{self.name}() is missing value for argument "
                                   f"'{argument.name}'. Declaration: {self}")
            self._check(argument, value)
            if argument.kwarg_only:
                named[argument.name] = value
            else:
                values.append(value)
        if left:
            raise RuntimeError(f"Unknown keyword argument '{next(iter(left))}' for operator "
                               f"'{self.name}'. Schema: {self}")
        return tuple(values), named

    def without_defaults(self, args: Sequence[Any],
                         named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments as ``bind`` gives them, those at the end left out that are as by default."""
        short = list(args)
        positional = [a for a in self.arguments if not a.kwarg_only]
        while short and _is_default(positional[len(short) - 1], short[-1]):
            short.pop()
        starred = {a.name: a for a in self.arguments if a.kwarg_only}
        return tuple(short), {name: value for name, value in named.items()
                              if not _is_default(starred[name], value)}

    def _check(self, argument: Argument, value: Any) -> None:
        if not _fits(argument.type, value):
            raise RuntimeError(f"{self.name}() Expected a value of type '{argument.type}' for "
                               f"argument '{argument.name}' but instead found type "
                               f"'{type(value).__name__}'. Declaration: {self}")


def _is_default(argument: Argument, value: Any) -> bool:
    return argument.has_default and type(value) is type(argument.default_value) \
        and bool(value == argument.default_value)


def _fits(kind: str, value: Any) -> bool:
    if kind.endswith("?"):
        return value is None or _fits(kind[:-1], value)
    match = re.match(r"(.+?)\[\d*\]$", kind)
    if match:
        return isinstance(value, (list, tuple)) and all(_fits(match.group(1), v) for v in value)
    wanted: Any = _PLAIN.get(kind)
    if kind in ("float", "Scalar", "SymInt", "int") and isinstance(value, flambeau.Tensor):
        return value.numel() == 1
    return wanted is None or isinstance(value, wanted)


# ---- from text ----------------------------------------------------------------------------------
def parse_schema(text: str) -> FunctionSchema:
    """Read a schema.

    Args:
        text: Such as ``"mylib::scale(Tensor x, float by=2.0) -> Tensor"``; the name may be left
            out.

    Raises:
        RuntimeError: the text is none.

    Example:
        >>> print(parse_schema("f(Tensor x, *, int? n=None) -> (Tensor, Tensor)"))
        f(Tensor x, *, int? n=None) -> (Tensor, Tensor)
    """
    match = _HEAD.match(text)
    if match is None:
        raise RuntimeError(f"expected a function schema, got {text!r}; write e.g. "
                           "'(Tensor x, float by=2.0) -> Tensor'")
    space, name, overload, inside, given = match.groups()
    arguments, keyword = [], False
    for part in _parts(inside):
        if part == "*":
            keyword = True
        else:
            arguments.append(_argument(part, text, keyword))
    many = given.startswith("(") and given.endswith(")")
    returns = [_argument(part, text, False)
               for part in (_parts(given[1:-1]) if many else [given])]
    return FunctionSchema(f"{space}::{name}" if space else name, overload or "", arguments, returns)


def _parts(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _argument(part: str, text: str, keyword: bool) -> Argument:
    match = _ARGUMENT.match(part)
    if match is None:
        raise RuntimeError(f"in the schema {text!r}: cannot read {part!r}; write e.g. "
                           "'Tensor? x=None'")
    kind, alias, suffix, later, optional, name, default = match.groups()
    alias = alias or later
    info = AliasInfo("!" in alias) if alias else None
    found = Argument(name, kind + suffix + optional, _value(default), default is not None, keyword,
                     info)
    if found.size is not None and isinstance(found.default_value, int | float):
        found.default_value = [found.default_value] * found.size    # ``int[2] padding=0``
    return found


def _value(text: str | None) -> Any:
    if text is None:
        return None
    text = text.strip()
    words: dict[str, Any] = {**_WORDS, "None": None, "True": True, "False": False}
    if text in words:
        return words[text]
    found = getattr(flambeau, text, None)
    return found if isinstance(found, flambeau.dtype) else ast.literal_eval(text)


# ---- from a definition ---------------------------------------------------------------------------
_ROLES = ("Tensor", "Tensor", "Tensor[]", "Scalar", "int", "float", "bool", "int", "int[]",
          "SymInt[]", "int[]", "ScalarType", "Device", "str", "Generator", "Any", "float[]", "Any",
          "bool[]")


def schema_of_definition(name: str) -> FunctionSchema:
    """The signature of an operator of this library's own, ``max__dim`` for ``max.dim``."""
    from flambeau.core import _core
    from flambeau.library.operators import own_key

    op = _core.find_op(own_key(name) or name)
    arguments = [Argument(param, _ROLES[role] + "?")
                 for param, role in zip(op.params, op._roles, strict=True)]
    return FunctionSchema(f"flambeau::{name}", "", arguments, [Argument("", "Tensor")] * op.nouts)


# ---- from a function -----------------------------------------------------------------------------
def _kinds() -> dict[Any, str]:
    kinds: dict[Any, str] = {
        flambeau.Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str",
        int | float | bool: "Scalar", flambeau.dtype: "ScalarType", flambeau.device: "Device"}
    return kinds


def _kind(annotation: Any) -> str | None:
    kinds = _kinds()
    if annotation in kinds:
        return kinds[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        rest = tuple(kind for kind in inner if kind is not type(None))
        if len(rest) < len(inner):
            found = _kind(functools.reduce(operator.or_, rest))
            return found and found + "?"
        return "Scalar" if set(rest) <= {int, float, bool, complex} else None
    if origin in (list, Sequence) and inner:
        found = _kind(inner[0])
        return found and found + "[]"
    return None


def infer_schema(prototype_function: Callable[..., Any], /, *,
                 mutates_args: str | Iterable[str] = (), op_name: str | None = None) -> str:
    """The schema of a function with annotations.

    Args:
        prototype_function: All its parameters and its result are annotated.
        mutates_args: Names of the tensors that it writes to, or ``"unknown"``.
        op_name: Put in front.

    Raises:
        ValueError: an annotation is missing or has no counterpart.

    Example:
        >>> import flambeau
        >>> def scaled(x: flambeau.Tensor, by: float = 2.0) -> flambeau.Tensor: ...
        >>> flambeau.library.infer_schema(scaled, mutates_args=())
        '(Tensor x, float by=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function, eval_str=True)
    unknown = mutates_args == "unknown"
    if isinstance(mutates_args, str) and not unknown:
        raise ValueError("mutates_args must be a sequence of names of arguments, or \"unknown\", "
                         f"not {mutates_args!r}")
    parts, starred = [], False
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ValueError(f"infer_schema(func): {name} takes any number of arguments, which an "
                             "operator cannot")
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        parts.append(_inferred(name, parameter, unknown or name in mutates_args))
    stray = [] if unknown else [name for name in mutates_args if name not in signature.parameters]
    if stray:
        raise ValueError(f"infer_schema(func): {stray} in mutates_args are no parameters")
    return f"{op_name or ''}({', '.join(parts)}) -> {_returned(signature.return_annotation)}"


def _inferred(name: str, parameter: inspect.Parameter, writes: bool) -> str:
    if parameter.annotation is parameter.empty:
        raise ValueError(f"infer_schema(func): Parameter {name} must have a type annotation, such "
                         f"as {name}: flambeau.Tensor")
    kind = _kind(parameter.annotation)
    if kind is None:
        raise ValueError(f"infer_schema(func): Parameter {name} has unsupported type "
                         f"{parameter.annotation}. The valid types are Tensor, int, float, bool, "
                         "str, dtype, device, Optional and Sequence of these, and int | float")
    if writes and kind.startswith("Tensor"):
        kind = "Tensor(a!)" + kind[len("Tensor"):]
    elif writes and "Tensor" not in kind:
        return f"{kind} {name}" + _default(parameter)
    return f"{kind} {name}" + _default(parameter)


def _default(parameter: inspect.Parameter) -> str:
    value = parameter.default
    if value is parameter.empty:
        return ""
    if isinstance(value, flambeau.dtype):
        return f"={value.name}"
    return f"={_shown(value)}"


def _returned(annotation: Any) -> str:
    if annotation in (None, type(None)):
        return "()"
    if annotation is inspect.Signature.empty:
        raise ValueError("infer_schema(func): the result must be annotated, such as "
                         "-> flambeau.Tensor")
    if typing.get_origin(annotation) is tuple:
        kinds = [_kind(kind) for kind in typing.get_args(annotation)]
    else:
        kinds = [_kind(annotation)]
    if None in kinds or any("?" in str(kind) for kind in kinds):
        raise ValueError(f"infer_schema(func): Return has unsupported type {annotation}. Tensor, "
                         "sequences and tuples of tensors, int, float, bool and None are valid")
    text = ", ".join(str(kind) for kind in kinds)
    return f"({text})" if typing.get_origin(annotation) is tuple and len(kinds) > 1 else text
