"""Sparse gradients: which parameters have one, and what optimizers make of it."""

from __future__ import annotations

import sys
from typing import Any

import flambeau
from flambeau import Tensor


def has_sparse(group: dict[str, Any]) -> bool:
    """Whether a parameter of a group has a sparse gradient. None has, while no sparse tensor was
    made in this process."""
    if "flambeau.sparse" not in sys.modules:
        return False
    return any(p.grad is not None and p.grad.is_sparse for p in group["params"])


def at_rows(grad: Tensor, values: Tensor) -> Tensor:
    """A sparse tensor with the indices of a coalesced gradient, and other values.

    Args:
        grad: A coalesced sparse tensor.
        values: Of the shape of its values.
    """
    return flambeau.sparse_coo_tensor(grad.indices(), values, grad.shape, is_coalesced=True)


def refuse(optimizer: str, instead: str) -> None:
    """Raise the error of an optimizer that takes dense gradients only."""
    raise RuntimeError(
        f"{optimizer} does not support sparse gradients, please consider {instead} instead, or "
        "leave out sparse=True of the embedding"
    )


def refuse_decay(group: dict[str, Any]) -> None:
    """Raise where weight decay would make a sparse gradient dense."""
    if group["weight_decay"] != 0:
        raise RuntimeError(
            "weight_decay option is not compatible with sparse gradients: it would change every "
            "element; leave it out for parameters of embeddings with sparse=True"
        )
