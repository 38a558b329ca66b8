"""Functions of sparse tensors as functions of dense ones: what ``gradcheck`` differentiates."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.core import _core, functions
from flambeau.sparse._compressed import CompressedTensor, batch_dim, block_sizes
from flambeau.sparse._conversions import converted, to_dense
from flambeau.sparse._masks import sample
from flambeau.sparse._tensor import filled

_op = {**functions, **_core.operators()}


def with_all_elements(x: Any) -> Any:
    """A tensor of the layout of a sparse one that stores the elements that are zero, too.

    Args:
        x: A sparse tensor.
    """
    every = _op["ones"](tuple(x.shape), dtype=x.dtype, device=x.device)
    if isinstance(x, CompressedTensor):
        blocks = block_sizes(x) if x._held.ndim - batch_dim(x) - x.dense_dim() == 3 else None
        pattern = converted(every, x.layout, blocks, x.dense_dim())
    else:
        pattern = every.to_sparse(x.sparse_dim()) if x.ndim else x.coalesce()
    return pattern._like(sample(x.detach(), pattern))


def of_values(function: Callable[..., Any], args: Sequence[Any],
              masked: bool) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of sparse tensors as one of their values, with dense results.

    Args:
        function: From ``args`` to tensors.
        args: Some of them sparse; those that require grad are replaced by their values.
        masked: Whether elements that are not stored count for nothing; otherwise they are
            arguments as well, and results that are sparse have gradients for all elements.

    Returns:
        The function, and its arguments.
    """
    patterns: dict[int, Any] = {}
    dense = list(args)
    for i, x in enumerate(args):
        if _core.is_sparse_object(x) and x.requires_grad:
            patterns[i] = x.detach() if masked else with_all_elements(x)
            dense[i] = _core.requiring(patterns[i]._held.detach().clone(), True)

    def of_dense(*values: Any) -> Any:
        given = [filled(patterns[i], value) if i in patterns else value
                 for i, value in enumerate(values)]
        results = function(*given)
        if isinstance(results, _core.Tensor):
            return to_dense(results, masked_grad=masked)
        return tuple(to_dense(y, masked_grad=masked) if isinstance(y, _core.Tensor) else y
                     for y in results)

    return of_dense, tuple(dense)
