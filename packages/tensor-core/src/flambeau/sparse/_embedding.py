"""Rows of a table whose gradient is sparse: ``embedding(..., sparse=True)``."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions
from flambeau.sparse._coo import add_at, coo
from flambeau.sparse._history import tie

_op = {**functions, **_core.operators()}
_INT64 = _core._dtype_named("int64")


def lookup(weight: Any, indices: Any, padding_idx: int, by_frequency: bool) -> Any:
    """Rows of a table; its gradient has a row for each index, however often it occurs.

    Args:
        weight: ``(rows, size)``.
        indices: Integers of any shape.
        padding_idx: A row that gets no gradient; none if it is negative.
        by_frequency: Whether gradients are divided by how often their row was looked up.

    Returns:
        ``(*indices.shape, size)``.
    """
    shape = tuple(weight.shape)
    flat = indices.detach().reshape(-1).to(_INT64)

    def backward(g: Any, needs: Any) -> tuple[Any]:
        rows, at = g.reshape(flat.numel(), shape[1]), flat
        if by_frequency:
            counts = add_at(shape[0], at, _op["ones_like"](at))
            rows = rows / counts[at].unsqueeze(1)
        if padding_idx >= 0:
            kept = at != padding_idx
            rows, at = rows[kept], at[kept]
        # The gradient may not change when somebody writes to the indices or to g.
        return (coo(_own(at, flat).unsqueeze(0), _own(rows, g), shape, False),)

    result = _op["embedding_lookup"](weight.detach(), indices, padding_idx, False)
    return tie("Embedding", result, (weight,), backward, (flat,))


def _own(tensor: Any, other: Any) -> Any:
    """The tensor, or a copy if it shares the memory of another."""
    return tensor.clone() if tensor.data_ptr() == other.data_ptr() else tensor
