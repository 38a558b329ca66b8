"""Elements of a tensor at the indices of another."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions
from flambeau.sparse._coo import CooTensor, coo, keys, product_of, sparse_shape
from flambeau.sparse._tensor import values_of

_op = {**functions, **_core.operators()}


def sample(x: Any, pattern: Any) -> Any:
    """Elements of a tensor where a sparse one has some, in the form of its values.

    Args:
        x: A tensor of the shape of the pattern, dense or sparse of any layout.
        pattern: A sparse tensor.
    """
    if _same_indices(x, pattern):
        return pattern._each(values_of(x))
    if not isinstance(pattern, CooTensor):
        return _in_blocks(sample(x, _entries(pattern)), pattern)
    if not _core.is_sparse_object(x):
        return gathered(x, pattern._at)
    from flambeau.sparse._conversions import to_coo

    return matched(to_coo(x), pattern)


def _entries(pattern: Any) -> Any:
    from flambeau.sparse._conversions import to_coo

    return to_coo(pattern)


def _in_blocks(values: Any, pattern: Any) -> Any:
    """Values of entries in the order and shape of a compressed tensor's own."""
    from flambeau.sparse._conversions import entries_as_values

    return entries_as_values(values, pattern)


def _same_indices(x: Any, pattern: Any) -> bool:
    """Whether two sparse tensors hold the very same indices."""
    return type(x) is type(pattern) and len(x._parts()) == len(pattern._parts()) and all(
        a is b for a, b in zip(x._parts(), pattern._parts(), strict=True))


def gathered(x: Any, at: Any) -> Any:
    """Elements of a dense tensor, or its parts behind the indexed dimensions.

    Args:
        x: A dense tensor.
        at: int64 ``(dims, n)``.
    """
    if at.shape[0] == 0:
        return x.unsqueeze(0).expand(at.shape[1], *x.shape)
    sizes = tuple(x.shape[:at.shape[0]])
    flat = x.reshape(-1, *x.shape[at.shape[0]:]) if x.numel() else \
        x.reshape(product_of(sizes), *x.shape[at.shape[0]:])
    return _op["index_select"](flat, 0, keys(at, sizes))


def find(x: Any, pattern: Any) -> tuple[Any, Any]:
    """Where a coalesced tensor has the indices of another: (number of the entry, whether it is)."""
    sizes = sparse_shape(x)
    have, want = keys(x._at, sizes), keys(pattern._at, sizes)
    number = _op["searchsorted"](have, want)
    if have.numel() == 0:
        return number, _op["zeros_like"](want, dtype=_core._dtype_named("bool"))
    number = number.clamp(max=have.numel() - 1)
    return number, have[number] == want


def matched(x: Any, pattern: Any) -> Any:
    """Values of a sparse tensor at the indices of another, zero where it has none."""
    from flambeau.sparse._conversions import with_sparse_dim

    x = with_sparse_dim(x, pattern.sparse_dim()).coalesce()
    values = values_of(x)
    if values.shape[0] == 0:
        return _op["zeros"]((pattern._nnz(), *values.shape[1:]), dtype=values.dtype,
                            device=values.device)
    number, there = find(x, pattern)
    rows = _op["index_select"](values, 0, number)
    there = there.reshape(-1, *[1] * (values.ndim - 1))
    return _op["where"](there, rows, _op["zeros"]((), dtype=rows.dtype, device=rows.device))


def sparse_mask(x: Any, mask: Any) -> Any:
    """Elements of ``x`` where ``mask`` has some: ``Tensor.sparse_mask``.

    Args:
        x: A tensor of the shape of the mask.
        mask: A sparse tensor, which gives its indices.

    Raises:
        RuntimeError: The shapes differ, or the mask is dense.
    """
    if not _core.is_sparse_object(mask):
        raise RuntimeError("sparse_mask(): the mask must be sparse, not strided; write x * mask, "
                           "or mask.to_sparse()")
    if tuple(x.shape) != tuple(mask.shape):
        raise RuntimeError("sparse_mask(): operands have incompatible sizes; self has size "
                           f"{list(x.shape)} but mask has size {list(mask.shape)}")
    from flambeau.sparse._tensor import filled

    if isinstance(mask, CooTensor) and not _core.is_sparse_object(x):
        mask = mask.detach().coalesce()
        return coo(mask._at, gathered(x, mask._at), tuple(x.shape), True)
    return filled(mask.detach(), sample(x, mask.detach()))
