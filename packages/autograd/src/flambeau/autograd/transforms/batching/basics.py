"""What batching rules share. A rule is a function

    rule(level, op, args, flags, seen) -> result or results, batched in their first dimension

of the arguments one level below, of flags that say which of them are batches, and of the arguments
as the function sees them.
"""
from __future__ import annotations

from functools import cache

from flambeau.core import Tensor, _core, find_op

__all__ = ["align", "call", "front", "fronts", "inferred_shape", "logical_ndim", "roles",
           "shifted"]

call = _core.call


@cache
def roles(key: str) -> tuple[tuple[str, str], ...]:
    """Name and role of each parameter of an operator."""
    from flambeau.core.register import definition

    return tuple([(p.name, p.role) for p in definition(key).params])


@cache
def position(key: str, name: str) -> int:
    """The position of a parameter."""
    return find_op(key).params.index(name)


def logical_ndim(value: Tensor, flag: bool) -> int:
    """Dimensions as the function sees them."""
    return value.ndim - flag


def align(value: Tensor, ndim: int) -> Tensor:
    """A batch with dimensions of size 1 put in, so that ``ndim`` follow the first."""
    for _ in range(ndim + 1 - value.ndim):
        value = call("unsqueeze", (value, 1))
    return value


def front(value, flag: bool, size: int):
    """The value as a batch: what is not one is repeated without a copy."""
    if flag or not isinstance(value, Tensor):
        return value
    return call("expand", (value, (size, *value.shape)))


def fronts(level, args, flags) -> list:
    """All tensors among the arguments as batches."""
    whole = []
    for value, flag in zip(args, flags, strict=True):
        if isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
            flag = flag or [False] * len(value)
            value = [front(v, f, level.size) for v, f in zip(value, flag, strict=True)]
        whole.append(front(value, flag is True, level.size))
    return whole


def shifted(dim, ndim: int):
    """Dims counted from behind the batch; of a tensor of ``ndim`` dimensions as it is seen."""
    if isinstance(dim, (list, tuple)):
        return [shifted(d, ndim) for d in dim]
    return dim % ndim + 1 if ndim else 1


def inferred_shape(op, seen) -> tuple[int, ...]:
    """The shape of the result as the function sees it."""
    return _core.infer(op, seen)[0][0]
