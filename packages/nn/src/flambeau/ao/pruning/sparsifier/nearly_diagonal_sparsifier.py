"""Matrices of which a band is left."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau import nn
from flambeau.ao.pruning.sparsifier.base_sparsifier import BaseSparsifier

__all__ = ["NearlyDiagonalSparsifier"]


class NearlyDiagonalSparsifier(BaseSparsifier):
    """Only the diagonal of a matrix, and diagonals beside it, are left.

    Args:
        nearliness: How many diagonals; an odd number, or 0 for none.
    """

    def __init__(self, nearliness: int = 1) -> None:
        super().__init__({"nearliness": nearliness})

    def update_mask(self, module: nn.Module, tensor_name: str,  # type: ignore[override]
                    nearliness: int, **kwargs: Any) -> None:
        """Let the mask be a band."""
        mask = module.parametrizations[tensor_name][0].mask
        rows, columns = mask.shape
        beside = nearliness // 2
        if nearliness > 0 and (nearliness % 2 == 0 or beside >= min(rows, columns)):
            raise ValueError(f"nearliness is an odd number below {2 * min(rows, columns)} for a "
                             f"matrix of {rows} by {columns}, got {nearliness}")
        if nearliness <= 0:
            mask.data = flambeau.zeros_like(mask)
        else:
            mask.data = flambeau.ones_like(mask).tril(beside).triu(-beside)
