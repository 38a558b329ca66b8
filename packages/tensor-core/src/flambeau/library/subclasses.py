"""Calls for classes of tensors that have a ``__torch_dispatch__``, below autograd.

A kernel's call comes here with its definition, arguments, and the tensors to write to; the classes
are asked under PyTorch's name for it (``aten_calls``).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import flambeau
import flambeau.library.aten as aten
from flambeau import Tensor
from flambeau.core import _core
from flambeau.library.aten_calls import aten_call
from flambeau.library.formula_calls import formula_results
from flambeau.library.operators import OpOverload, handler, ops

# Composites without a derivative, shown as one call while gradients are recorded, too.
_CONSTANT = ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like",
             "randint_like", "equal", "count_nonzero", "isposinf", "isneginf", "bincount")
# Shown in parts, because what they give is no tensor or list of tensors.
_IN_PARTS = frozenset(("nonzero.tuple", "where.indices", "gather.sparse_grad", "segment_reduce",
                       "norm"))


def shown_whole() -> Iterator[tuple[str, bool]]:
    """The composites that PyTorch has as one kernel, and whether they are constant."""
    for key in _core.op_keys():
        op = _core.find_op(key)
        if op.category == "composite" and aten.forms(op.name) and key not in _IN_PARTS \
                and not aten.is_composite(op.name):
            yield key, op.name in _CONSTANT


def show(op: Any, args: list[Any], outs: Any) -> Any:
    """Ask the classes of a call's tensors."""
    parts = taken_apart(op, args, outs)
    if parts is not None:
        return parts
    name, form, values, kwargs = aten_call(op, args, outs)
    packet = getattr(ops.aten, name) if form else getattr(ops.flambeau, op.key.replace(".", "__"))
    func = getattr(packet, form or "default")
    result = ask(func, values, kwargs)
    if isinstance(result, Tensor) and _wants_grad(op, args):
        result.requires_grad_()
    return result


def _call(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def taken_apart(op: Any, args: list[Any], outs: Any,
                call: Callable[..., Any] = _call) -> Any:
    """The results of an operator that PyTorch has not, by calls of those that it has.

    Args:
        op: The operator.
        args: Its arguments.
        outs: The tensors to write to, or None.
        call: Calls a function with arguments, where its operators are to be shown.

    Returns:
        The results, or None for an operator that is shown as it is.
    """
    if op.key == "linear" and outs is None:
        return call(_linear, *args)
    if aten_call(op, args, outs)[1]:
        return None
    parts = call(formula_results, op, args)
    return None if parts is None else call(_stored, parts, outs)


def _stored(results: list[Any], outs: Any) -> Any:
    """Results as an operator gives them, or in the tensors that are to be written to."""
    if outs is None:
        return results
    for target, result in zip(outs, results, strict=True):
        target.copy_(result)
    return outs


def _wants_grad(op: Any, args: list[Any]) -> bool:
    return "requires_grad" in op.params and args[op.params.index("requires_grad")] is True


def show_aten(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Ask the classes of a call that is no kernel's here, such as ``detach.default``."""
    packet, _, form = name.partition(".")
    return ask(getattr(getattr(ops.aten, packet), form), args, kwargs)


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """A product with a transposed matrix, as PyTorch takes it apart."""
    if weight.ndim != 2 or x.ndim < 2:
        result = flambeau.matmul(x, weight.t() if weight.ndim == 2 else weight)
        return result if bias is None else result + bias
    rows = x if x.ndim == 2 else x.reshape(-1, x.shape[-1])
    turned = weight.t()
    found = flambeau.mm(rows, turned) if bias is None else flambeau.addmm(bias, rows, turned)
    return found if x.ndim == 2 else found.view(*x.shape[:-1], weight.shape[0])


# ---- asking ------------------------------------------------------------------------------------
def _tensors(values: Any) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def shown_to(args: Any, kwargs: Any) -> list[Tensor]:
    """Tensors whose classes are asked: one of each class, subclasses before their bases."""
    found: list[Tensor] = []
    for value in _tensors((*args, *kwargs.values())):
        kind = type(value)
        if not _core.is_dispatched(value) or any(type(one) is kind for one in found):
            continue
        at = next((i for i, one in enumerate(found) if issubclass(kind, type(one))), len(found))
        found.insert(at, value)
    return found


def ask(func: OpOverload, args: Any, kwargs: dict[str, Any]) -> Any:
    """The answer of the first class that has one.

    Raises:
        TypeError: none of them has.
    """
    asked = shown_to(args, kwargs)
    types = tuple(type(value) for value in asked)
    for value in asked:
        answer = handler(func, type(value))(types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    raise TypeError(
        f"Multiple dispatch failed for '{func}'; all __torch_dispatch__ handlers returned "
        f"NotImplemented: {', '.join(f'tensor subclass {kind}' for kind in types)}. Let one of "
        "the classes handle it")


# ---- what tensors of such classes are besides ----------------------------------------------------
def blank(tensors: Any, shape: Any, strides: Any, dtype: Any, device: Any) -> Any:
    """Memory for results of tensors, made by the class of the first one."""
    x = next(value for value in tensors if _core.is_dispatched(value))
    options = {"dtype": dtype or x.dtype, "device": device or x.device}
    if strides is None:
        return _core.method_below("new_empty.default", x, list(shape), **options)
    return _core.method_below("new_empty_strided.default", x, list(shape), list(strides),
                              **options)


def text(x: Tensor) -> str:
    """A tensor as ``repr`` shows it: what is known without its values."""
    if _core.is_wrapper(x):
        extra = ", requires_grad=True" if x.requires_grad else ""
        return (f"{type(x).__name__}(..., size={tuple(x.shape)}, dtype={x.dtype}, "
                f"device='{x.device}'{extra})")
    from flambeau.core import printing

    with _core.DisableTorchDispatch():
        plain = x.detach()
    body = printing.tensor_text(plain)
    return type(x).__name__ + body.removeprefix("tensor")
