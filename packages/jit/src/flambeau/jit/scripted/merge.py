"""Variables after a branch or a step: which are tensors, and which are what Python knows."""

from __future__ import annotations

from typing import Any, NoReturn

import flambeau
from flambeau.jit import bridge
from flambeau.jit.recording.regions import refuse

#: How Python's numbers become tensors where a value decides which one it is.
_DTYPES = {bool: "bool", int: "int64", float: "float64"}


class Undefined:
    """A variable that has no value yet, or has one only where a branch was taken.

    Args:
        name: what it is called.
    """

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "name", name)

    def __repr__(self) -> str:
        return f"<{self.name}, which has no value>"

    def __getattr__(self, attribute: str) -> NoReturn:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise self._error()

    def _error(self, *args: object) -> Exception:
        return refuse(f"{self.name!r} has a value only where a branch was taken or a loop ran; "
                      "give it one before")

    def _fail(self, *args: object) -> Any:
        raise self._error()


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "matmul",
              "rmatmul", "lt", "le", "gt", "ge", "getitem", "call", "iter", "len", "bool", "neg",
              "float", "int", "index", "pow", "mod", "floordiv", "and", "or"):
    setattr(Undefined, f"__{_name}__", Undefined._fail)


def kind_of(one: Any, other: Any, name: str, what: str) -> Any:
    """What two leaves become: ``None``, Python's own value; or the dtype of a tensor.

    Raises:
        TraceError: they have nothing in common.
    """
    if one is other or isinstance(one, Undefined) or isinstance(other, Undefined):
        return None
    for first, second in ((one, other), (other, one)):
        if bridge.is_tensor(first):
            if bridge.is_tensor(second):
                _check(one, other, name, what)
            elif type(second) not in _DTYPES or first.dim():
                raise refuse(f"{name!r} is a tensor {what}, and {second!r} otherwise; make both "
                             "tensors of one shape and dtype")
            return bridge.dtype_name(first.dtype)
    if type(one) is type(other) and bool(one == other):
        return None
    dtypes = [_DTYPES[type(leaf)] for leaf in (one, other) if type(leaf) in _DTYPES]
    if len(dtypes) < 2:
        raise refuse(f"{name!r} is {one!r} {what}, and {other!r} otherwise, which values cannot "
                     "decide in a program; use tensors")
    return max(dtypes, key=list(_DTYPES.values()).index)


def _check(one: Any, other: Any, name: str, what: str) -> None:
    types = [(tuple(t.shape), bridge.dtype_name(t.dtype), str(t.device)) for t in (one, other)]
    if types[0] != types[1]:
        shown = " and ".join(f"{dtype}{list(shape)}" for shape, dtype, _ in types)
        raise refuse(f"{name!r} is {shown}, {what} and otherwise; a program needs one type: use "
                     "to(), expand() or an initial value of the same shape and dtype")


def tensor_of(leaf: Any, dtype: str) -> Any:
    """A leaf as a tensor, made where it stands."""
    if bridge.is_tensor(leaf):
        return leaf
    return flambeau.full((), leaf, dtype=bridge.dtype_named(dtype))


def chosen(one: Any, other: Any) -> Any:
    """Which of two leaves that need no tensor is known afterwards."""
    if isinstance(other, Undefined):
        return other
    return one
