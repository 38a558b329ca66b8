"""Indices of sparse matrices in one form and the other, by the names of PyTorch's operators."""
from __future__ import annotations

import flambeau
from flambeau.core import Tensor


def _convert_indices_from_coo_to_csr(self: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Where each row starts: of sorted row numbers of entries, ``size + 1`` offsets."""
    rows = flambeau.arange(size + 1, dtype=self.dtype, device=self.device)
    return flambeau.searchsorted(self.contiguous(), rows, out_int32=out_int32)


def _convert_indices_from_csr_to_coo(crow_indices: Tensor, col_indices: Tensor, *,
                                     out_int32: bool = False, transpose: bool = False) -> Tensor:
    """The row and the column of each entry: shape ``(2, entries)``."""
    rows = flambeau.arange(crow_indices.numel() - 1, dtype=crow_indices.dtype,
                           device=crow_indices.device).repeat_interleave(crow_indices.diff())
    pair = (col_indices, rows) if transpose else (rows, col_indices)
    return flambeau.stack(pair).to(flambeau.int32 if out_int32 else flambeau.int64)
