"""Products of groups of rows, columns or terms, each with a matrix of its own."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from flambeau import Tensor

from ._core import ops


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: Any = None,
) -> Tensor:
    """One product for every group, as a mixture of experts needs them.

    ``out[offs[g-1]:offs[g]] = mat_a[offs[g-1]:offs[g]] @ mat_b[g]``

    Args:
        mat_a: Shape ``(M, K)``, or ``(G, M, K)`` with a matrix for every group.
        mat_b: Shape ``(K, N)`` or ``(G, K, N)``.
        offs: Where each group ends, shape ``(G,)``, for an operand of two dimensions: in the rows
            of ``mat_a``, in the columns of ``mat_b``, or, if both have two, in what is summed over.
        bias: Added to the result.
        out_dtype: The dtype of the result; by default that of the operands.

    Returns:
        Shape ``(M, N)``, or ``(G, M, N)`` where both operands have equally many dimensions. What
        lies behind the last group is zero.

    Raises:
        ValueError: An operand does not have two or three dimensions, or ``offs`` is missing, does
            not rise, goes beyond the operand, or is given where both have three dimensions.

    Example:
        >>> import flambeau
        >>> tokens = flambeau.ones(3, 2)
        >>> experts = flambeau.tensor([[[1.0], [1.0]], [[5.0], [5.0]]])
        >>> grouped_mm(tokens, experts, offs=flambeau.tensor([1, 3])).flatten()
        tensor([ 2., 10., 10.])
    """
    ranks = (mat_a.ndim, mat_b.ndim)
    if not set(ranks) <= {2, 3}:
        raise ValueError(f"grouped_mm(): operands have 2 or 3 dimensions, not {ranks}")
    if ranks == (3, 3):
        if offs is not None:
            raise ValueError("grouped_mm(): offs stands for groups of an operand of 2 dimensions")
        result = mat_a @ mat_b
    else:
        result = _by_groups(mat_a, mat_b, _bounds(mat_a, mat_b, offs))
    if out_dtype is not None:
        result = result.to(out_dtype)
    return result if bias is None else result + bias


def _bounds(mat_a: Tensor, mat_b: Tensor, offs: Tensor | None) -> list[tuple[int, int]]:
    """Beginning and end of every group."""
    if offs is None:
        raise ValueError("grouped_mm(): offs says where groups end if an operand has 2 dimensions")
    ends = offs.tolist()
    size = mat_a.shape[-1] if mat_a.ndim == mat_b.ndim else mat_a.shape[0]
    if mat_a.ndim == 3:
        size = mat_b.shape[1]
    bounds = list(pairwise([0, *ends]))
    if any(begin > end for begin, end in bounds) or any(end > size for end in ends):
        raise ValueError(f"grouped_mm(): offs rises from 0 to at most {size}, but is {ends}")
    groups = [m.shape[0] for m in (mat_a, mat_b) if m.ndim == 3]
    if groups and groups[0] != len(ends):
        raise ValueError(f"grouped_mm(): offs has {len(ends)} ends for {groups[0]} groups")
    return bounds


def _by_groups(mat_a: Tensor, mat_b: Tensor, bounds: list[tuple[int, int]]) -> Tensor:
    if mat_a.ndim == mat_b.ndim:
        return ops.stack([mat_a[:, i:j] @ mat_b[i:j] for i, j in bounds])
    if mat_a.ndim == 2:
        parts = [mat_a[i:j] @ mat_b[g] for g, (i, j) in enumerate(bounds)]
        rest = mat_a.new_zeros(mat_a.shape[0] - bounds[-1][1], mat_b.shape[-1])
        return ops.cat([*parts, rest], 0)
    parts = [mat_a[g] @ mat_b[:, i:j] for g, (i, j) in enumerate(bounds)]
    rest = mat_b.new_zeros(mat_a.shape[1], mat_b.shape[1] - bounds[-1][1])
    return ops.cat([*parts, rest], 1)
