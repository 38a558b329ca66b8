"""Views: the same view of every sample."""
from __future__ import annotations

from flambeau.autograd.transforms.batching.basics import align, call, inferred_shape, shifted

__all__ = ["VIEW_RULES"]


def _view(level, op, args, flags, seen):
    return call(op, (args[0], (level.size, *inferred_shape(op, seen))))


def _expand(level, op, args, flags, seen):
    shape = inferred_shape(op, seen)
    return call(op, (align(args[0], len(shape)), (level.size, *shape)))


def _as_strided(level, op, args, flags, seen):
    """The strides that the function sees are those in memory."""
    x, size, stride, offset = args
    start = seen[0].storage_offset()
    offset = start if offset is None else offset
    _check_reach(seen[0], size, stride, offset - start)
    return call(op, (x, (level.size, *size), (x.stride(0), *stride), offset))


def _check_reach(x, size, stride, first):
    """Refuse elements outside of the sample, which are those of other samples."""
    if 0 in size:
        return
    last = first + _span(size, stride)
    if first < 0 or not x.numel() or last > _span(x.shape, x.stride()):
        raise RuntimeError(
            f"vmap: as_strided({list(size)}, {list(stride)}) reaches elements {first} to {last} of "
            f"the sample's memory, which holds a tensor of shape {list(x.shape)} and strides "
            f"{list(x.stride())}. This is not supported inside of vmap: what lies beside it "
            "belongs to other samples. Keep within the sample, or call as_strided outside of vmap")


def _span(size, stride):
    return sum([(n - 1) * s for n, s in zip(size, stride, strict=True)])


def _permute(level, op, args, flags, seen):
    return call(op, (args[0], [0, *shifted(args[1], args[0].ndim - 1)]))


def _t(level, op, args, flags, seen):
    x = args[0]
    return call("transpose", (x, 1, 2)) if x.ndim == 3 else call("alias", (x,))


def _squeeze(level, op, args, flags, seen):
    x, dims = args
    ndim = x.ndim - 1
    chosen = range(1, ndim + 1) if dims is None else shifted(list(_listed(dims)), ndim)
    chosen = [d for d in chosen if d <= ndim and x.shape[d] == 1]
    return call(op, (x, chosen)) if chosen else call("alias", (x,))


def _listed(dims):
    return dims if isinstance(dims, (list, tuple)) else (dims,)


def _unsqueeze(level, op, args, flags, seen):
    x, dim = args
    return call(op, (x, dim % x.ndim + 1))


def _along(level, op, args, flags, seen):
    x, dim, *rest = args
    return call(op, (x, shifted(dim, x.ndim - 1), *rest))


def _transpose(level, op, args, flags, seen):
    x, first, second = args
    ndim = x.ndim - 1
    if ndim == 0:
        return x
    return call(op, (x, shifted(first, ndim), shifted(second, ndim)))


def _diagonal(level, op, args, flags, seen):
    x, offset, first, second = args
    return call(op, (x, offset, shifted(first, x.ndim - 1), shifted(second, x.ndim - 1)))


def _unfold(level, op, args, flags, seen):
    x, dim, size, step = args
    if x.ndim == 1:                     # of a number: one window
        return call(op, (call("unsqueeze", (x, 1)), 1, size, step)).squeeze(1)
    return call(op, (x, shifted(dim, x.ndim - 1), size, step))


def _same(level, op, args, flags, seen):
    return call(op, args)


VIEW_RULES = {
    "view": _view, "expand": _expand, "as_strided": _as_strided, "permute": _permute, "t": _t,
    "squeeze": _squeeze, "unsqueeze": _unsqueeze, "select": _along, "slice": _along,
    "narrow": _along, "transpose": _transpose, "diagonal": _diagonal, "unfold": _unfold,
    "alias": _same, "view_as_real": _same, "view_as_complex": _same, "view.dtype": _same,
}
