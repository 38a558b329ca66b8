"""Flips, bands and borders."""
from __future__ import annotations

from flambeau.core import ops
from flambeau.core.decompositions.shared import count, filled, numbers
from flambeau.core.dtypes import dtypes


def flip(x, dims):
    for dim in dims:
        if x.ndim:
            backwards = x.shape[dim] - 1 - count(x, dim)
            x = ops.index(x, [None] * (dim % x.ndim) + [backwards])
    return x


def _band(x, diagonal):
    """How far each element lies right of a diagonal."""
    return count(x, -1) - count(x, -2).unsqueeze(-1) - diagonal


def tril(x, diagonal):
    return ops.where(_band(x, diagonal) <= 0, x, ops.full_of((), 0, dtype=x.dtype,
                                                             device=x.device))


def triu(x, diagonal):
    return ops.where(_band(x, diagonal) >= 0, x, ops.full_of((), 0, dtype=x.dtype,
                                                             device=x.device))


def constant_pad_nd(x, pad, value):
    """Negative widths cut."""
    before = [0] * (x.ndim - len(pad) // 2) + list(pad[-2::-2])
    after = [0] * (x.ndim - len(pad) // 2) + list(pad[-1::-2])
    shape = [n + b + a for n, b, a in zip(x.shape, before, after, strict=True)]
    result = ops.full_of(shape, value, dtype=x.dtype, device=x.device)
    target = result
    for dim, (b, a) in enumerate(zip(before, after, strict=True)):
        length = x.shape[dim] + min(b, 0) + min(a, 0)
        x = x.narrow(dim, max(-b, 0), length)
        target = target.narrow(dim, max(b, 0), length)
    ops.copy_(target, x)
    return result


def repeat_indices(repeats, total):
    ends = repeats.cumsum(0)
    return (numbers(total, repeats.device).unsqueeze(-1) >= ends).to(dtypes["int64"]).sum(-1)


def _repeated(n, left, right, mode, device):
    """For each element of a padded dimension the number of the element it repeats."""
    at = numbers(n + left + right, device) - left
    if mode == 0:       # mirrored at the border elements
        return ops.where(at < 0, -at, ops.where(at >= n, 2 * (n - 1) - at, at))
    return at.clamp(0, n - 1) if mode == 1 else at.remainder(n)


def pad_by(x, pad, mode):
    for i in range(len(pad) // 2):
        d = x.ndim - 1 - i
        at = _repeated(x.shape[d], pad[2 * i], pad[2 * i + 1], mode, x.device)
        x = ops.index(x, [None] * d + [at])
    return x


def pad_by_grad(grad, pad, mode, size):
    elements = 1
    for n in size:
        elements *= n
    flat = pad_by(numbers(elements, grad.device).reshape(tuple(size)), pad, mode)
    empty = filled((elements,), 0, grad)
    return ops.scatter_add(empty, 0, flat.reshape(-1), grad.reshape(-1)).reshape(size)
