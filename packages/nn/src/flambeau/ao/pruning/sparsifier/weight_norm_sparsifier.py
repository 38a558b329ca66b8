"""Blocks of weights whose norm is least become zero."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor, nn
from flambeau.ao.pruning.sparsifier.base_sparsifier import BaseSparsifier
from flambeau.nn import functional as F

__all__ = ["WeightNormSparsifier"]

_NORMS: dict[int, Callable[[Tensor], Tensor]] = {1: lambda x: x.abs(), 2: lambda x: x * x}


class WeightNormSparsifier(BaseSparsifier):
    """The blocks of a matrix with the least norms become zero, wholly or in part.

    Args:
        sparsity_level: The part of the blocks.
        sparse_block_shape: Rows and columns of a block.
        zeros_per_block: How many numbers of such a block become zero: the least. All when None.
        norm: 1 or 2 for the means of absolute values or squares, or a function of the weights.
    """

    def __init__(self, sparsity_level: float = 0.5, sparse_block_shape: tuple[int, int] = (1, 4),
                 zeros_per_block: int | None = None,
                 norm: int | Callable[[Tensor], Tensor] | None = None) -> None:
        if zeros_per_block is None:
            zeros_per_block = sparse_block_shape[0] * sparse_block_shape[1]
        norm = 2 if norm is None else norm
        if not callable(norm) and norm not in _NORMS:
            raise NotImplementedError(f"norm is 1, 2 or a function of the weights, got {norm}")
        self.norm_fn = norm if callable(norm) else _NORMS[norm]
        super().__init__({"sparsity_level": sparsity_level,
                          "sparse_block_shape": sparse_block_shape,
                          "zeros_per_block": zeros_per_block})

    def update_mask(self, module: nn.Module, tensor_name: str,  # type: ignore[override]
                    sparsity_level: float, sparse_block_shape: tuple[int, int],
                    zeros_per_block: int, **kwargs: Any) -> None:
        """Let the mask be zero where the norms are least."""
        whole = sparse_block_shape[0] * sparse_block_shape[1]
        if not 0 <= zeros_per_block <= whole:
            raise ValueError(f"zeros_per_block is between 0 and {whole}, the numbers of a block, "
                             f"got {zeros_per_block}")
        mask = module.parametrizations[tensor_name][0].mask
        if sparsity_level <= 0 or zeros_per_block == 0:
            mask.data = flambeau.ones_like(mask)
        elif sparsity_level >= 1 and zeros_per_block == whole:
            mask.data = flambeau.zeros_like(mask)
        else:
            norms = self.norm_fn(getattr(module, tensor_name)).detach()
            made = _of_blocks(norms, sparsity_level, sparse_block_shape)
            if zeros_per_block < whole:
                inside = _in_blocks(norms, sparse_block_shape, zeros_per_block)
                made = flambeau.logical_or(made, inside)
            mask.data = made


def _of_blocks(norms: Tensor, level: float, shape: tuple[int, int]) -> Tensor:
    """A mask of which whole blocks are zero."""
    if level >= 1:
        return flambeau.zeros_like(norms)
    means = F.avg_pool2d(norms[None, None], shape, shape, ceil_mode=True)[0, 0]
    kept = flambeau.ones_like(means).flatten()
    count = max(0, min(kept.numel() - 1, round(level * kept.numel())))
    kept[means.flatten().topk(count, largest=False).indices] = 0
    rows = kept.reshape(means.shape).repeat_interleave(shape[0], 0)
    return rows.repeat_interleave(shape[1], 1)[:norms.shape[0], :norms.shape[1]].contiguous()


def _in_blocks(norms: Tensor, shape: tuple[int, int], zeros: int) -> Tensor:
    """A mask of which each block has as many zeros; what lies outside counts as greatest."""
    (h, w), (rows, columns) = norms.shape, shape
    padded = F.pad(norms, (0, -w % columns, 0, -h % rows), value=float("inf"))
    high, wide = padded.shape[0] // rows, padded.shape[1] // columns
    blocks = padded.reshape(high, rows, wide, columns).transpose(1, 2)
    flat = blocks.reshape(high, wide, rows * columns)
    kept = flambeau.ones_like(flat)
    kept.scatter_(-1, flat.topk(zeros, largest=False).indices, 0)
    made = kept.reshape(high, wide, rows, columns).transpose(1, 2).reshape(padded.shape)
    return made[:h, :w].contiguous()
