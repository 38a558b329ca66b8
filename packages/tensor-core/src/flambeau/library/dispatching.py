"""Modes below autograd: what ``__torch_dispatch__`` of a ``TorchDispatchMode`` sees.

Calls come as kernels do, after gradients were recorded, transforms taken apart and composites
written out, under the names that PyTorch gives its operators where it has one with the same
arguments, else as ``flambeau.ops.flambeau.name``.
"""
from __future__ import annotations

from typing import Any

import flambeau.library.aten as aten
from flambeau import Tensor
from flambeau.core import _core
from flambeau.library.operators import OpOverload, Shown, ops, shown

_Call = tuple[str, str, tuple[Any, ...], dict[str, Any]]
_WITH_TENSOR_FORM = frozenset(("add", "sub", "mul", "div"))
_FORMS = {"slice": "Tensor", "select": "int", "index": "Tensor"}


def _convolution(key: str, args: list[Any]) -> _Call:
    spatial = args[0].ndim - 2
    x, weight, bias, stride, padding, dilation, groups = args
    return "convolution", "default", (x, weight, bias, stride, padding, dilation, False,
                                      [0] * spatial, groups), {}


def _matmul(key: str, args: list[Any]) -> _Call:
    ranks = args[0].ndim, args[1].ndim
    name = {(2, 2): "mm", (2, 1): "mv", (1, 1): "dot", (3, 3): "bmm"}.get(ranks, "matmul")
    return name, "default", tuple(args[:2]), {}


def _softmax(key: str, args: list[Any]) -> _Call:
    if args[2] is not None:
        return key, "int", tuple(args), {}
    return f"_{key}", "default", (args[0], args[1], False), {}


def _made(key: str, args: list[Any]) -> _Call:
    options = dict(zip(("dtype", "device"), args[1:], strict=True))
    given = {name: value for name, value in options.items() if value is not None}
    return "empty", "memory_format", (list(args[0]),), given


_REWRITTEN = {
    "conv2d": _convolution, "conv3d": _convolution, "matmul": _matmul, "softmax": _softmax,
    "log_softmax": _softmax, "empty": _made,
    "cast": lambda key, args: ("_to_copy", "default", (args[0],), {"dtype": args[1]}),
}


def _form(name: str, args: tuple[Any, ...], forms: list[str]) -> str:
    """The overload that PyTorch would choose for arguments."""
    second = args[1] if len(args) > 1 else None
    wanted: tuple[str, ...] = ("dim_IntList", "dim", "default", "Tensor")
    if name in _FORMS or name.rstrip("_") in _WITH_TENSOR_FORM:
        wanted = (_FORMS.get(name, "Tensor"),)
    elif isinstance(second, Tensor):
        wanted = ("Tensor", "Tensor_Tensor", "default")
    elif isinstance(second, (int, float, complex)):
        wanted = ("Scalar", "Tensor_Scalar", "int", "dim", "dim_IntList", "default")
    elif second is None:
        wanted = ("default",)
    return next((form for form in wanted if form in forms), forms[0])


def _named(op: Any, args: list[Any]) -> _Call:
    """A call under the operator's own name, without what it leaves out."""
    kept = dict(zip(op.params, args, strict=True))
    kwargs = {name: kept.pop(name) for name in ("dtype", "device", "alpha", "generator")
              if name in kept}
    kwargs = {name: value for name, value in kwargs.items()
              if value is not None and (name, value) != ("alpha", 1)}
    values = list(kept.values())
    while values and (values[-1] is None or op.category == "reduction" and values[-1] is False):
        values.pop()
    return op.name, "", tuple(values), kwargs


def _shown_call(op: Any, args: list[Any], outs: Any) -> _Call:
    """Name, overload, arguments and keywords of a call, under PyTorch's name if it has one."""
    make = _REWRITTEN.get(op.key) if outs is None else None
    if make is not None:
        return make(op.key, args)
    name, _, values, kwargs = _named(op, args)
    if outs is not None and len(outs) == 1 and outs[0] is args[0]:
        name += "_"
    elif outs is not None:
        kwargs["out"] = outs[0] if len(outs) == 1 else tuple(outs)
    if not aten.is_listed(name):
        return name, "", values, kwargs
    forms = aten.overloads(name)
    form = "out" if "out" in kwargs and "out" in forms else _form(name, values, forms)
    if form == "dim_IntList" and isinstance(values[1], int):
        values = (values[0], [values[1]], *values[2:])
    return name, form, values, kwargs


class TorchDispatchMode:
    """Sees the calls of kernels inside a ``with`` block; a base class.

    The method ``__torch_dispatch__(self, func, types, args=(), kwargs=None)`` is called instead
    of a kernel; ``func`` is one of ``flambeau.ops``. Called with the same arguments it runs what
    would have run; what is called inside is shown to the mode around it. Gradients are recorded
    before, so that a mode sees the kernels of backward passes, too.

    Example:
        >>> import flambeau
        >>> from flambeau.utils._python_dispatch import TorchDispatchMode
        >>> class Names(TorchDispatchMode):
        ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        ...         print(func)
        ...         return func(*args, **(kwargs or {}))
        >>> x = flambeau.ones(2, 2)
        >>> with Names():
        ...     y = (x @ x).exp() + 1
        aten.mm.default
        aten.exp.default
        aten.add.Tensor
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            raise NotImplementedError("TorchDispatchMode(_dispatch_key): there are no dispatch "
                                      "keys here; leave it out")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __torch_dispatch__: define what "
                                  "the mode does with a call")

    def __enter__(self) -> Any:
        blocks = self.__dict__.setdefault("_blocks", [])
        blocks.append(_core.interpose("trace", self._run))
        blocks[-1].__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.__dict__["_blocks"].pop().__exit__(*exc)

    def _run(self, op: Any, args: list[Any], outs: Any) -> Any:
        name, form, values, kwargs = _shown_call(op, args, outs)
        func: OpOverload = getattr(getattr(ops.aten, name), form) if form \
            else getattr(ops.flambeau, op.key.replace(".", "__")).default
        if not form:
            values, kwargs = tuple(args), {}
        types = tuple({type(t) for t in values if isinstance(t, Tensor) and type(t) is not Tensor})
        shown.list.append(Shown(func, values, kwargs, lambda: _core.call(op, args, outs)))
        try:
            result = self.__torch_dispatch__(func, types, values, kwargs)
        finally:
            shown.list.pop()
        return outs if outs is not None else result
