"""Which blocks of scores attention needs."""

from __future__ import annotations

import itertools
from typing import Any

import flambeau
from flambeau import Tensor

from ._mods import MaskMod, indices, noop_mask, over_indices

BLOCK = 128


def _sliced(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The mask of a part of a BlockMask, whose indices are not those that the function knows."""
    raise RuntimeError("Cannot use mask_mod from a sliced BlockMask: its indices have moved; make "
                       "one of the new lengths, with a mask_mod that adds the offset")


def ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks of each row there are, and all columns, those first."""
    counts = dense.int().sum(-1).int()
    columns = flambeau.argsort(dense.int(), dim=-1, descending=True, stable=True).int()
    return counts, columns


def dense_of(counts: Tensor, columns: Tensor) -> Tensor:
    """The blocks that ``ordered`` counted, as ones among zeros of int32."""
    taken = flambeau.arange(columns.shape[-1], device=columns.device) < counts.unsqueeze(-1)
    zeros = flambeau.zeros(columns.shape, dtype=flambeau.int32, device=columns.device)
    return zeros.scatter(-1, columns.long(), taken.int())


class BlockMask:
    """A mask by blocks of queries and keys: those that are needed, and how to fill them.

    Columns beyond the counts have no meaning. ``create_block_mask`` makes one of a function.

    Args:
        seq_lengths: Queries and keys.
        kv_num_blocks: Blocks of each row of blocks that the function decides on, ``(B, H, rows)``.
        kv_indices: Their columns, ``(B, H, rows, columns)``.
        full_kv_num_blocks: Blocks of each row in which every key takes part.
        full_kv_indices: Their columns.
        q_num_blocks: The same by columns.
        q_indices: The same by columns.
        full_q_num_blocks: The same by columns.
        full_q_indices: The same by columns.
        BLOCK_SIZE: Queries and keys of a block.
        mask_mod: The function of (batch, head, query, key).

    Raises:
        RuntimeError: The columns have fewer than two dimensions.
        ValueError: Only one of a pair was given.

    Example:
        >>> from flambeau.nn.attention.flex_attention import create_block_mask
        >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 256, 256)
        >>> mask.shape, mask.sparsity()
        ((1, 1, 256, 256), 25.0)
    """

    _TENSORS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices",
                "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices")

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        q_num_blocks: Tensor | None = None,
        q_indices: Tensor | None = None,
        full_q_num_blocks: Tensor | None = None,
        full_q_indices: Tensor | None = None,
        BLOCK_SIZE: tuple[int, int] = (BLOCK, BLOCK),
        mask_mod: MaskMod = noop_mask,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions, and kv_indices has "
                               f"shape {tuple(kv_indices.shape)}")
        for name, pair in (("full_kv", (full_kv_num_blocks, full_kv_indices)),
                           ("full_q", (full_q_num_blocks, full_q_indices))):
            if (pair[0] is None) != (pair[1] is None):
                raise ValueError(f"BlockMask(): {name}_num_blocks and {name}_indices are given "
                                 "together or not at all")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = BLOCK,
        mask_mod: MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """A mask of the blocks of each row; those of each column follow.

        Args:
            kv_num_blocks: Blocks of each row that the function decides on, ``(B, H, rows)``.
            kv_indices: Their columns, ``(B, H, rows, columns)``.
            full_kv_num_blocks: Blocks of each row in which every key takes part.
            full_kv_indices: Their columns.
            BLOCK_SIZE: Queries and keys of a block.
            mask_mod: The function of (batch, head, query, key); all keys for None.
            seq_lengths: Queries and keys; as many as the blocks have for None.
            compute_q_blocks: Whether to find the blocks of each column.

        Raises:
            RuntimeError: The columns have fewer than two dimensions.
            ValueError: Only one of a pair was given.
        """
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions, and kv_indices has "
                               f"shape {tuple(kv_indices.shape)}")
        rows, columns = kv_indices.shape[-2:]
        by_column: list[Tensor | None] = [None] * 4
        if compute_q_blocks:
            by_column[:2] = ordered(dense_of(kv_num_blocks, kv_indices).mT)
        if compute_q_blocks and full_kv_num_blocks is not None and full_kv_indices is not None:
            by_column[2:] = ordered(dense_of(full_kv_num_blocks, full_kv_indices).mT)
        build: Any = cls
        return build(seq_lengths or (rows * size[0], columns * size[1]), kv_num_blocks, kv_indices,
                     full_kv_num_blocks, full_kv_indices, *by_column, BLOCK_SIZE=size,
                     mask_mod=mask_mod or noop_mask)

    @property
    def shape(self) -> tuple[int, ...]:
        """Samples, heads, queries and keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """Lengths, tensors, block sizes and function, in this order.

        Args:
            flatten: Whether both lengths, and both block sizes, are elements of their own.
        """
        tensors = tuple(getattr(self, name) for name in self._TENSORS)
        if flatten:
            return (*self.seq_lengths, *tensors, *self.BLOCK_SIZE, self.mask_mod)
        return (self.seq_lengths, *tensors, self.BLOCK_SIZE, self.mask_mod)

    def numel(self) -> int:
        """Elements of the whole mask."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    def sparsity(self) -> float:
        """How much of the mask needs no computing, in percent."""
        blocks = self.kv_num_blocks.sum().item()
        if self.full_kv_num_blocks is not None:
            blocks += self.full_kv_num_blocks.sum().item()
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """The needed blocks as ones among zeros, ``(B, H, rows, columns)``."""
        partial = dense_of(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return partial
        return partial | dense_of(self.full_kv_num_blocks, self.full_kv_indices)

    def to(self, device: Any) -> BlockMask:
        """The mask on another device.

        Args:
            device: Where its tensors lie then.
        """
        tensors = [t if t is None else t.to(device) for t in self.as_tuple(False)[1:9]]
        build: Any = BlockMask
        return build(self.seq_lengths, *tensors, BLOCK_SIZE=self.BLOCK_SIZE,
                     mask_mod=self.mask_mod)

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some samples, heads and rows; integers keep their dimension."""
        given = index if isinstance(index, tuple) else (index,)
        sizes = self.kv_num_blocks.shape[:3]
        padded = (*given, slice(None), slice(None), slice(None))[:3]
        taken = tuple(_as_slice(i, n) for i, n in zip(padded, sizes, strict=True))
        full = (self.full_kv_num_blocks, self.full_kv_indices)
        parts = [None if t is None else t[taken] for t in (
            self.kv_num_blocks, self.kv_indices, *full)]
        build: Any = BlockMask.from_kv_blocks
        return build(*parts, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=_sliced,
                     seq_lengths=self.seq_lengths, compute_q_blocks=self.q_indices is not None)

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The upper left corner, for other lengths."""
        rows, columns = (-(-new_q_len // self.BLOCK_SIZE[0]), -(-new_kv_len // self.BLOCK_SIZE[1]))
        pairs: list[Tensor | None] = []
        for counts, kept in ((self.kv_num_blocks, self.kv_indices),
                             (self.full_kv_num_blocks, self.full_kv_indices)):
            if counts is None or kept is None:
                pairs += [None, None]
            else:
                pairs += ordered(dense_of(counts, kept)[..., :rows, :columns])
        build: Any = self.from_kv_blocks
        return build(*pairs, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod,
                     seq_lengths=(new_q_len, new_kv_len),
                     compute_q_blocks=self.q_indices is not None)

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A drawing: full blocks dark, partial ones grey, others empty.

        Args:
            grid_size: Rows and columns of the drawing at most; -1 for all.
            limit: Drawings at most, one for each sample and head.
        """
        dense = self.to_dense()
        *batch, rows, columns = dense.shape
        most = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        steps = [max(1, -(-n // m)) if m > 0 else 1
                 for n, m in zip((rows, columns), most, strict=True)]
        drawings = []
        for number, place in enumerate(itertools.product(*map(range, batch))):
            if number == limit:
                drawings += ["...", "To print out more, set BlockMask.to_string(limit=N)",
                             "You can also index (BlockMask[batch, head]) to choose a specific "
                             "batch or head"]
                break
            drawings.append(f"{place}\n" + _drawn(dense[place].float(), *steps))
        return "\n".join(drawings)

    def __str__(self) -> str:
        return (f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n"
                f"{self.to_string().strip()}\n)")

    def __repr__(self) -> str:
        shapes = "".join(f"    {name}={None if t is None else tuple(t.shape)},\n"
                         for name, t in zip(self._TENSORS, self.as_tuple(False)[1:9], strict=True))
        name = getattr(self.mask_mod, "__name__", self.mask_mod)
        return (f"BlockMask(\n{shapes}    BLOCK_SIZE={self.BLOCK_SIZE},\n    shape={self.shape},\n"
                f"    sparsity={self.sparsity():.2f}%,\n    mask_mod={name}\n)")


def _as_slice(i: Any, size: int) -> Any:
    if not isinstance(i, int):
        return i
    return slice(i + size, i + size + 1) if -size <= i < 0 else slice(i, i + 1)


def _drawn(dense: Tensor, row_step: int, column_step: int) -> str:
    lines = []
    for r in range(0, dense.shape[0], row_step):
        shares = [dense[r:r + row_step, c:c + column_step].mean().item()
                  for c in range(0, dense.shape[1], column_step)]
        lines.append("".join(2 * ("█" if s == 1 else " " if s == 0 else "░") for s in shares))
    return "\n".join(lines) + "\n"


def create_block_mask(
    mask_mod: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = BLOCK,
    _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:
    """The blocks that a function of indices needs; the mask is never there as a whole.

    Args:
        mask_mod: A function of (batch, head, query, key), tensors of no dimension, that says
            whether the key takes part.
        B: Samples; 1, for all alike, for None.
        H: Heads; 1, for all alike, for None.
        Q_LEN: Queries.
        KV_LEN: Keys.
        device: Where the blocks' indices lie.
        BLOCK_SIZE: Queries and keys of a block.
        _compile: Accepted for compatibility.
        separate_full_blocks: Whether blocks in which every key takes part are kept apart, for
            which the function need not be asked again.

    Returns:
        The mask of shape ``(B, H, Q_LEN, KV_LEN)``.

    Raises:
        ValueError: A block size is not positive.

    Example:
        >>> window = lambda b, h, q, kv: (q >= kv) & (q - kv < 64)
        >>> mask = create_block_mask(window, None, None, 1024, 1024)
        >>> mask.kv_num_blocks.flatten().tolist()
        [1, 2, 2, 2, 2, 2, 2, 2]
    """
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    if min(size) < 1:
        raise ValueError(f"create_block_mask(): BLOCK_SIZE={BLOCK_SIZE} must be positive")
    samples, heads = (1 if n is None else n for n in (B, H))
    mask_of = over_indices(mask_mod, False)
    places = [indices(0, n, device) for n in (samples, heads)]
    keys = indices(0, KV_LEN, device)
    counts = []
    with flambeau.no_grad():
        for start in range(0, Q_LEN, size[0]):
            queries = indices(start, min(start + size[0], Q_LEN), device)
            counts.append(_counted(mask_of(*places, queries, keys), size[1]))
        shape = (samples, heads, 0, -(-KV_LEN // size[1]))
        table = flambeau.stack(counts, 2) if counts else flambeau.zeros(shape)
        full = table == size[0] * size[1]
        some = (table > 0) & ~full if separate_full_blocks else table > 0
        parts = (*ordered(some), *(ordered(full) if separate_full_blocks else (None, None)))
        build: Any = BlockMask.from_kv_blocks
        return build(*parts, BLOCK_SIZE=size, mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN))


def _counted(mask: Tensor, width: int) -> Tensor:
    """How many keys take part in each block of a row of blocks."""
    per_key = mask.int().sum(-2)
    padded = flambeau.constant_pad_nd(per_key, (0, -per_key.shape[-1] % width))
    return padded.reshape(*per_key.shape[:-1], -1, width).sum(-1)


