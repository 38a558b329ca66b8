"""Indexing: batches of indices pick from their own sample."""
from __future__ import annotations

import flambeau
from flambeau.autograd.transforms.batching.basics import align, call, front, shifted
from flambeau.autograd.transforms.batching.loop import loop
from flambeau.core import Tensor, _core

__all__ = ["INDEX_RULES"]


def _numbers(level, index: Tensor, rank: int) -> Tensor:
    """The samples' numbers, to be broadcast with batches of indices of ``rank`` dimensions."""
    numbers = call("arange_of", (0, level.size, 1, None, index.device))
    return call("view", (numbers, [level.size] + [1] * rank))


def _spread_index(level, index, flag, like, dim):
    """A 1-d index along ``dim`` (counted behind the batch) of a tensor of ``like``'s shape."""
    if index.ndim - flag == 0:
        index = call("unsqueeze", (index, -1))
    index = front(index, flag, level.size)
    shape = [1] * like.ndim
    shape[0], shape[dim] = level.size, index.shape[1]
    whole = list(like.shape)
    whole[dim] = index.shape[1]
    return call("expand", (index.reshape(shape), whole))


# ---- along a dimension -------------------------------------------------------------------------
def _roomy(level, tensors, flags):
    """Tensors as batches with at least one dimension behind the first."""
    whole = [front(t, f, level.size) for t, f in zip(tensors, flags, strict=True)]
    return [call("unsqueeze", (t, 1)) if t.ndim == 1 else t for t in whole]


def _index_select(level, op, args, flags, seen):
    x, dim, index = args
    x, = _roomy(level, (x,), flags[:1])
    dim = shifted(dim, seen[0].ndim)
    if not flags[2]:
        result = call(op, (x, dim, index))
    else:
        result = call("gather", (x, dim, _spread_index(level, index, True, x, dim)))
    return result if seen[0].ndim else call("squeeze", (result, [1]))


def _index_add(level, op, args, flags, seen):
    x, dim, index, source, alpha = args
    x, source = _roomy(level, (x, source), (flags[0], flags[3]))
    dim = shifted(dim, seen[0].ndim)
    if not flags[2]:
        result = call(op, (x, dim, index, source, alpha))
    else:
        positions = _spread_index(level, index, True, x, dim)
        source = source if alpha == 1 else call("mul", (source, alpha))
        result = call("scatter_add", (x, dim, positions, call("expand", (source, positions.shape))))
    return result if seen[0].ndim else call("squeeze", (result, [1]))


def _index_copy(level, op, args, flags, seen):
    x, dim, index, source = args
    x, source = _roomy(level, (x, source), (flags[0], flags[3]))
    dim = shifted(dim, seen[0].ndim)
    if not flags[2]:
        result = call(op, (x, dim, index, source))
    else:
        positions = _spread_index(level, index, True, x, dim)
        result = call("scatter.src", (x, dim, positions, call("expand", (source, positions.shape))))
    return result if seen[0].ndim else call("squeeze", (result, [1]))


def _index_fill(level, op, args, flags, seen):
    x, dim, index, value = args
    x, = _roomy(level, (x,), flags[:1])
    dim = shifted(dim, seen[0].ndim)
    if not flags[2] and not flags[3]:
        result = call(op, (x, dim, index, value))
    else:
        result = _filled(level, x, dim, index, value, flags[2:4])
    return result if seen[0].ndim else call("squeeze", (result, [1]))


def _filled(level, x, dim, index, value, flags):
    """A tensor is chosen by mask: an index that occurs twice counts once for its gradient."""
    positions = _spread_index(level, index, flags[0], x, dim)
    positions = call("where", (positions < 0, positions + x.shape[dim], positions))
    if not isinstance(value, Tensor):
        return call("scatter.value", (x, dim, positions, value))
    blank = call("filled_like", (x, 0, flambeau.bool))
    mask = call("scatter.value", (blank, dim, positions, True))
    value = call("cast", (value, x.dtype))
    return call("where", (mask, align(value, x.ndim - 1) if flags[1] else value, x))


# ---- several dimensions at once ----------------------------------------------------------------
def _layout(indices):
    """Where the dimensions of the indices land (None: in front), and their rank."""
    at = [i for i, index in enumerate(indices) if index is not None]
    rank = max([indices[i].ndim for i in at])
    together = at[-1] - at[0] + 1 == len(at)
    return (at[0] if together else None), rank


def _whole_indices(level, indices, flags, seen_indices):
    """Index tensors with the batch in front, and the samples' numbers before them."""
    rank = max([i.ndim for i in seen_indices if i is not None])
    whole = [align(i, rank) if f else i for i, f in zip(indices, flags, strict=True)]
    known = next(i for i in indices if i is not None)
    return [_numbers(level, known, rank), *whole]


def _index(level, op, args, flags, seen):
    x, indices = args
    at, rank = _layout(seen[1])
    index_flags = flags[1] or [False] * len(indices)
    if not any(index_flags):            # one choice of positions for all samples
        result = call(op, (x, [None, *indices]))
        return result if at is not None else _moved(result, rank, 0)
    if not flags[0]:                    # batches of positions in one tensor
        result = call(op, (x, [align(i, rank) if f else i
                               for i, f in zip(indices, index_flags, strict=True)]))
        return _moved(result, at or 0, 0)
    result = call(op, (x, _whole_indices(level, indices, index_flags, seen[1])))
    return _block_moved(result, 1, rank, at + 1) if at else result


def _moved(x, source, target):
    if source == target:
        return x
    order = list(range(x.ndim))
    order.insert(target, order.pop(source))
    return call("permute", (x, order))


def _block_moved(x, start, length, target):
    """Move ``length`` neighbouring dimensions so that they start at ``target``."""
    order = list(range(x.ndim))
    block = order[start:start + length]
    rest = order[:start] + order[start + length:]
    return call("permute", (x, rest[:target] + block + rest[target:]))


def _index_put(level, op, args, flags, seen):
    x, indices, values, accumulate = args
    x = front(x, flags[0], level.size)
    at, rank = _layout(seen[1])
    index_flags = flags[1] or [False] * len(indices)
    shape = _core.infer("index", (seen[0], seen[1]))[0][0]
    values = align(values, len(shape)) if flags[2] else values
    values = call("expand", (values, (level.size, *shape)))
    if at:
        values = _block_moved(values, at + 1, rank, 1)
    where = _whole_indices(level, indices, index_flags, seen[1])
    return call(op, (x, where, values, accumulate))


# ---- tables of rows ----------------------------------------------------------------------------
def _offsets(level, index, rank, rows):
    return call("mul", (_numbers(level, index, rank), rows))


def _embedding_lookup(level, op, args, flags, seen):
    weight, indices, padding, by_frequency = args
    if not flags[0]:
        return call(op, args)
    if padding >= 0 or by_frequency:    # these matter to the gradient: it is the row's own
        return loop(level, op, args, flags, seen)
    rows = weight.shape[1]
    positions = front(indices, flags[1], level.size)
    positions = call("add", (positions, _offsets(level, positions, seen[1].ndim, rows)))
    return call(op, (weight.reshape(level.size * rows, -1), positions))


def _embedding_grad(level, op, args, flags, seen):
    grad, indices, rows, padding = args
    grad = front(grad, flags[0], level.size)
    indices = front(indices, flags[1], level.size)
    if padding >= 0:
        padded = call("unsqueeze", (indices == padding, -1))
        grad = call("where", (padded, 0, grad))
    positions = call("add", (indices, _offsets(level, indices, seen[1].ndim, rows)))
    table = call(op, (grad, positions, level.size * rows, -1))
    return table.reshape(level.size, rows, -1)


INDEX_RULES = {
    "index_select": _index_select, "index_add": _index_add, "index_copy": _index_copy,
    "index_fill": _index_fill, "index": _index, "index_put": _index_put,
    "embedding_lookup": _embedding_lookup, "embedding_grad": _embedding_grad,
}
