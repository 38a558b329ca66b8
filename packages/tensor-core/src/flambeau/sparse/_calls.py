"""Calls of operators with sparse tensors: the core brings here what it cannot read as dense.

A table from an operator's name to a function; what is not in it has no meaning for sparse tensors,
as in PyTorch, and is refused.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.core import _core

CALLS: dict[str, Callable[..., Any]] = {}
#: Calls that write to their first argument and differ from computing a result and writing that.
WRITING: dict[str, Callable[..., Any]] = {}


def handles(*names: str, into: dict[str, Callable[..., Any]] = CALLS) -> Callable[..., Any]:
    """Enter a function in the table under these names."""
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        into.update(dict.fromkeys(names, function))
        return function

    return enter


def call(name: str, overload: str, inplace: int, args: tuple[Any, ...],
         options: dict[str, Any]) -> Any:
    """Run an operator, at least one argument of which is sparse.

    Args:
        name: What users call it, ``linalg.norm``.
        overload: Of the definition that was tried first.
        inplace: Whether it writes to its first argument.
        args: By position.
        options: By name.

    Raises:
        NotImplementedError: The operator has no meaning for sparse tensors.
    """
    short = name.removeprefix("linalg.").removeprefix("nn.functional.").removeprefix("special.")
    short = _OTHER_NAMES.get(short, short)
    if inplace and short in WRITING:
        return WRITING[short](*args, **options)
    function = CALLS.get(short)
    if function is None:
        raise NotImplementedError(_refusal(name, args, options))
    options = {_PARAMETERS.get(key, key): value for key, value in options.items()}
    out = options.pop("out", None)
    result = function(*args, **options)
    if inplace:
        return write(args[0], result, short)
    return result if out is None else write(out, result, short)


#: How derivative rules and composites call what has another name in the table.
_OTHER_NAMES = {"true_divide": "div", "divide": "div", "subtract": "sub", "multiply": "mul",
                "negative": "neg", "absolute": "abs", "concat": "cat", "concatenate": "cat",
                "vector_norm": "norm", "conj_physical": "conj", "real_part": "real"}
_PARAMETERS = {"axis": "dim", "keepdims": "keepdim", "input": "self", "axis0": "dim0",
               "axis1": "dim1"}


def _refusal(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> str:
    for value in (*args, *options.values()):
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if _core.is_sparse_object(one):
                return (f"{name}() is not implemented for tensors of layout {one.layout}: its "
                        "result would not be sparse, or it reads elements one by one. Write "
                        "x.to_dense() first, or compute with x.values()")
    return f"{name}() is not implemented for sparse tensors"


def write(target: Any, result: Any, name: str) -> Any:
    """Let ``target`` be ``result`` from now on: calls in place, and ``out=``."""
    if not _core.can_cast(result.dtype, target.dtype):
        raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output "
                           f"type {target.dtype}: write x = x.{name}(...)")
    if not _core.is_sparse_object(target):
        return target.copy_(result if not _core.is_sparse_object(result) else result.to_dense())
    if type(result) is not type(target) or result.layout is not target.layout:
        raise RuntimeError(f"{name}_(): the result is of layout {result.layout}, and "
                           f"{target.layout} cannot hold it: write x = x.{name}(...)")
    if result.dtype is not target.dtype:
        result = result.to(target.dtype)
    if result is target:
        return target
    if _core.is_grad_enabled() and target.requires_grad and target.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place "
                           f"operation: {name}_() of a sparse tensor; do it under "
                           "flambeau.no_grad(), or write y = x." + f"{name}(...)")
    target._become(result.detach())
    if _core.is_grad_enabled():
        _core.take_history(target, result)
    return target
