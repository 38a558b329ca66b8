"""Tensors in other shapes over the same memory."""

from __future__ import annotations

from collections.abc import Sequence

from .._call import SIZED, VIEWS, Call, Strategy, rule
from ..placement_types import Partial, Placement, Shard

VIEWS.update(("view", "_unsafe_view", "reshape", "expand", "transpose", "t", "permute",
              "unsqueeze", "squeeze", "select", "slice", "detach", "alias", "diagonal", "unfold"))
SIZED.update({"view": 1, "_unsafe_view": 1, "reshape": 1, "expand": 1})


def _mapped(call: Call, dims: Sequence[tuple[int, int]]) -> list[Strategy]:
    """Strategies from pairs of a dimension of the tensor and one of the results."""
    count = len(call.outs)
    rows = [Strategy((Shard(out),) * count, (Shard(dim),)) for dim, out in dims]
    partial: list[Placement] = [p for p in call.inputs[0]._spec.placements
                                if isinstance(p, Partial)]
    return [*rows, *(Strategy((p,) * count, (p,)) for p in partial)]


@rule("view", "_unsafe_view", "reshape")
def viewed(call: Call) -> list[Strategy]:
    """Dimensions that hold the same elements."""
    return _mapped(call, same_rows(call.inputs[0].shape, call.outs[0].shape, call.size))


def same_rows(old: Sequence[int], new: Sequence[int], parts: int) -> list[tuple[int, int]]:
    """Dimensions of two shapes whose parts are the same elements.

    Args:
        old: A shape.
        new: A shape of as many elements.
        parts: How many parts both are cut into.
    """
    found: list[tuple[int, int]] = []
    for before, after in _groups(old, new):
        if len(before) == len(after) == 1:
            found.append((before[0], after[0]))
        elif before and after:
            a, b = before[0], after[0]
            if old[a] % parts == 0 and new[b] % parts == 0:
                found.append((a, b))
    return found


def _groups(old: Sequence[int], new: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Dimensions of two shapes that have as many elements, without those of size 1."""
    if 0 in old:
        return []
    a = [i for i, size in enumerate(old) if size != 1]
    b = [i for i, size in enumerate(new) if size != 1]
    found = []
    while a and b:
        before, after = [a.pop(0)], [b.pop(0)]
        left, right = old[before[0]], new[after[0]]
        while left != right:
            if left < right:
                before.append(a.pop(0))
                left *= old[before[-1]]
            else:
                after.append(b.pop(0))
                right *= new[after[-1]]
        found.append((before, after))
    return found


@rule("expand")
def expanded(call: Call) -> list[Strategy]:
    """Dimensions that stay as they are."""
    x, out = call.inputs[0], call.outs[0]
    more = out.ndim - x.ndim
    return _mapped(call, [(dim, dim + more) for dim in range(x.ndim)
                          if x.shape[dim] == out.shape[dim + more]])


@rule("t", "transpose")
def transposed(call: Call) -> list[Strategy]:
    """Dimensions in another order."""
    ndim = call.inputs[0].ndim
    order = list(range(ndim))
    if ndim > 1:
        a, b = (dim % ndim for dim in call.args[1:3]) if call.name == "transpose" else (0, 1)
        order[a], order[b] = order[b], order[a]
    return _mapped(call, [(dim, out) for out, dim in enumerate(order)])


@rule("permute")
def permuted(call: Call) -> list[Strategy]:
    """Dimensions in another order."""
    ndim = call.inputs[0].ndim
    return _mapped(call, [(dim % ndim, out) for out, dim in enumerate(call.args[1])])


@rule("unsqueeze")
def unsqueezed(call: Call) -> list[Strategy]:
    """Dimensions beside a new one."""
    ndim = call.outs[0].ndim
    at = call.args[1] % ndim
    return _mapped(call, [(dim, dim + (dim >= at)) for dim in range(ndim - 1)])


@rule("squeeze")
def squeezed(call: Call) -> list[Strategy]:
    """Dimensions that are left."""
    x = call.inputs[0]
    given = call.argument(1, "dim")
    gone = range(x.ndim) if given is None else [given] if isinstance(given, int) else given
    dims = {dim % x.ndim for dim in gone} if x.ndim else set()
    left = [dim for dim in range(x.ndim) if not (dim in dims and x.shape[dim] == 1)]
    return _mapped(call, [(dim, out) for out, dim in enumerate(left)])


@rule("select")
def selected(call: Call) -> list[Strategy]:
    """Dimensions beside the one of the index."""
    ndim = call.inputs[0].ndim
    at = call.args[1] % ndim
    return _mapped(call, [(dim, dim - (dim > at)) for dim in range(ndim) if dim != at])


@rule("slice")
def sliced(call: Call) -> list[Strategy]:
    """Dimensions beside the one that is cut."""
    x, out = call.inputs[0], call.outs[0]
    at = call.argument(1, "dim", 0) % x.ndim
    return _mapped(call, [(dim, dim) for dim in range(x.ndim)
                          if dim != at or x.shape[dim] == out.shape[dim]])


@rule("split", "split_with_sizes", "chunk", "unbind")
def split(call: Call) -> list[Strategy]:
    """Dimensions beside the one that is split."""
    ndim = call.inputs[0].ndim
    position = 1 if call.name == "unbind" else 2
    at = call.argument(position, "dim", 0) % ndim
    gone = call.name == "unbind"
    return _mapped(call, [(dim, dim - (gone and dim > at)) for dim in range(ndim) if dim != at])
