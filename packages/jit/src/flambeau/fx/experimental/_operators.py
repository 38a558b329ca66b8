"""Calls below autograd as calls of public functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import flambeau
from flambeau.core import Operator, _core
from flambeau.fx.node import Node, writes
from flambeau.jit import bridge
from flambeau.jit.opset import find_opdef, written_params
from flambeau.library.operators import OpOverload


class Call:
    """An operator of the table that no public function is: called by its key.

    Args:
        key: The key.
    """

    def __init__(self, key: str) -> None:
        self.key = key
        self.__name__ = key.replace(".", "_")
        self.__qualname__ = self.__name__
        self.__module__ = __name__

    def __call__(self, *args: Any) -> Any:
        return _core.call(self.key, list(args))

    def __repr__(self) -> str:
        return f"<operator {self.key}>"

    def __reduce__(self) -> Any:
        return call_by_key, (self.key,)


@cache
def call_by_key(key: str) -> Call:
    """The function that calls an operator by its key."""
    return Call(key)


@cache
def _public(key: str) -> dict[bool, Any]:
    """The public functions whose first form an operator is: writing to the argument, or not."""
    found: dict[bool, Any] = {}
    for name, operator in _core.operators().items():
        if isinstance(operator, Operator) and operator.key == key and len(operator.keys) == 1:
            found.setdefault(name.endswith("_"), operator)
    return found


class Decompositions:
    """Functions that are recorded in place of operators.

    Args:
        table: What is replaced -> the function. The former is an operator of this library, one of
            ``flambeau.ops``, a form of one, or a key.
    """

    def __init__(self, table: Any) -> None:
        self.names: dict[str, Any] = {}
        for op, function in dict(table or {}).items():
            if isinstance(op, Operator):
                self.names[op.key] = self.names[f"aten.{op.__name__}"] = function
            else:
                self.names[str(op)] = function

    def find(self, key: str, target: Any) -> Any:
        """The function for a call, or None.

        Args:
            key: The key of the operator, or nothing.
            target: What a node would call.
        """
        if not self.names:
            return None
        whole = str(target)
        return next((self.names[name] for name in (key, whole, whole.rpartition(".")[0])
                     if name in self.names), None)


def aten_of(key: str, args: Sequence[Any], outs: Sequence[Any] | None
            ) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """A call as one of ``flambeau.ops.aten``; None where there is none that computes the same.

    Args:
        key: The operator's key.
        args: Its arguments, all of them.
        outs: The tensors that it writes to: none, or its first argument.
    """
    from flambeau.library.aten_calls import aten_call

    if outs is not None and not (len(outs) == 1 and outs[0] is args[0]):
        return None
    name, form, given, named = aten_call(_core.find_op(key), list(args), outs)
    if not form:
        return None
    return getattr(getattr(flambeau.ops.aten, name), form), given, named


def gives_list(key: str) -> bool:
    """Whether an operator gives several results."""
    opdef = find_opdef(key)
    return opdef is not None and (len(opdef.outputs) > 1 or opdef.list_output)


def call_of(key: str, args: Sequence[Any], outs: Sequence[Any] | None
            ) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The function of a call, its positional and its named arguments."""
    found = aten_of(key, args, outs)
    return call_of_public(key, args, outs) if found is None else found


def call_of_public(key: str, args: Sequence[Any], outs: Sequence[Any] | None
                   ) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The same as a call of this library's public functions."""
    opdef = find_opdef(key)
    if opdef is None:
        raise NotImplementedError(f"{key}() is not in the operator table and cannot be recorded")
    inplace = outs is not None and len(outs) == 1 and outs[0] is args[0]
    function = _public(key).get(inplace)
    if outs is not None and not inplace:
        return _writer(key), (list(outs), *args), {}
    if function is None:
        return (_writer(key), ([args[0]], *args), {}) if inplace else \
            (call_by_key(key), tuple(args), {})
    given, named = [], {}
    for at, (param, value) in enumerate(zip(opdef.params, args, strict=True)):
        optional = param.default is not ... and _same(value, param.default)
        if param.keyword:
            if not optional:
                named[param.name] = value
        elif optional and all(_is_default(opdef, args, later) for later in range(at, len(args))):
            break
        else:
            given.append(value)
    for at in range(len(given), len(args)):
        param = opdef.params[at]
        if param.keyword and not _is_default(opdef, args, at):
            named[param.name] = args[at]
    return function, tuple(given), named


def _is_default(opdef: Any, args: Sequence[Any], at: int) -> bool:
    param = opdef.params[at]
    return param.keyword or (param.default is not ... and _same(args[at], param.default))


def _same(value: Any, default: Any) -> bool:
    if bridge.is_tensor(value):
        return False
    if isinstance(value, list | tuple) and isinstance(default, list | tuple):
        return tuple(value) == tuple(default)
    return type(value) is type(default) and bool(value == default)


class Write:
    """An operator that writes its results to tensors.

    Args:
        key: Its key.
    """

    def __init__(self, key: str) -> None:
        self.key = key
        self.__name__ = f"{key.replace('.', '_')}_out"
        self.__qualname__ = self.__name__
        self.__module__ = __name__

    def __call__(self, outs: Sequence[Any], *args: Any) -> Any:
        return _core.call(self.key, list(args), list(outs))

    def __reduce__(self) -> Any:
        return _writer, (self.key,)


@cache
def _writer(key: str) -> Write:
    return Write(key)


def is_needed(node: Node) -> bool:
    """Whether a node stays although nothing uses it: it writes, or is a parameter."""
    if node.op in ("placeholder", "output") or isinstance(node.target, Write):
        return True
    if isinstance(node.target, Call):
        return bool(written_params(node.target.key))
    name = getattr(node.target, "__name__", "")
    if isinstance(node.target, OpOverload):
        return writes(node.target)
    if isinstance(node.target, Operator):
        return name.endswith("_") or bool(written_params(node.target.key))
    return False
