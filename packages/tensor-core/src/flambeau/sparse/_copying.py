"""pickle and copy of sparse tensors: their parts, and what is to be known of them."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core
from flambeau.sparse._compressed import CompressedTensor, new_compressed
from flambeau.sparse._coo import new_coo


def rebuild_coo(at: Any, values: Any, shape: tuple[int, ...], ordered: bool,
                requires_grad: bool) -> Any:
    """Make a tensor in coordinate format of what was pickled."""
    from flambeau.sparse._make import sparse_coo_tensor

    checked = sparse_coo_tensor(at, values, shape, is_coalesced=ordered)
    return _core.requiring(checked, True) if requires_grad else checked


def rebuild_compressed(kind: Any, starts: Any, along: Any, values: Any, shape: tuple[int, ...],
                       requires_grad: bool) -> Any:
    """Make a tensor in a compressed format of what was pickled."""
    from flambeau.sparse._make import sparse_compressed_tensor

    checked = sparse_compressed_tensor(starts, along, values, shape, layout=kind)
    return _core.requiring(checked, True) if requires_grad else checked


def reduce(x: Any) -> Any:
    """What pickle and copy.copy need."""
    from flambeau.core import copying

    if x.requires_grad:
        copying._check_graph(x)
    values = x._held.detach()
    if isinstance(x, CompressedTensor):
        return rebuild_compressed, (x._kind, x._starts, x._along, values, tuple(x.shape),
                                    x.requires_grad)
    return rebuild_coo, (x._at, values, tuple(x.shape), x._ordered, x.requires_grad)


def deepcopy(x: Any, memo: dict[int, Any]) -> Any:
    """What copy.deepcopy needs: leaves alone are copied, as of dense tensors."""
    if id(x) in memo:
        return memo[id(x)]
    if not x.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support "
                           "the deepcopy protocol at the moment: write x.detach(), or x.clone()")
    values = x._held.detach().clone()
    if isinstance(x, CompressedTensor):
        copy = new_compressed(x._kind, x._starts.clone(), x._along.clone(), values,
                              tuple(x.shape))
    else:
        copy = new_coo(x._at.clone(), values, tuple(x.shape), x._ordered)
    if x.requires_grad:
        copy = _core.requiring(copy, True)
    memo[id(x)] = copy
    if x.grad is not None:
        from copy import deepcopy as again

        copy.grad = again(x.grad, memo)
    return copy
