"""Attention over the blocks of scores that a mask needs.

Each row of blocks is computed on its own: its queries with the keys of its blocks, side by side.
Scores exist for one row at a time, and where there are many they are made again in the backward
pass instead of being kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import flambeau
from flambeau import Tensor

from .._core import ops
from ._block_mask import BlockMask, dense_of
from ._mods import MaskMod, ScoreMod, indices, over_indices

#: Scores of a call from which on they are computed twice rather than kept for the backward pass.
SCORES_KEPT = 1 << 22


@dataclass(frozen=True)
class Call:
    """What is the same for all blocks."""

    query: Tensor
    key: Tensor
    value: Tensor
    score_mod: ScoreMod | None
    mask_mod: MaskMod | None
    scale: float
    statistics: bool


@dataclass(frozen=True)
class Job:
    """Queries of some samples and heads, all of which need the same blocks of keys."""

    samples: tuple[int, int]
    heads: tuple[int, int]
    queries: tuple[int, int]
    full: tuple[tuple[int, int], ...]       # ranges of keys that all take part
    partial: tuple[tuple[int, int], ...]    # ranges of keys that the mask decides on

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return sum(stop - start for start, stop in self.full + self.partial)


def attend(call: Call, block_mask: BlockMask | None) -> tuple[Tensor, ...]:
    """The result, and with ``statistics`` the logarithms of sums and the greatest scores."""
    samples, heads, length, _ = call.query.shape
    jobs = list(_jobs(call, block_mask))
    scores = sum(_size(job) for job in jobs)
    keeps = call.score_mod is None and not call.statistics
    again = flambeau.is_grad_enabled() and not keeps and scores > SCORES_KEPT
    run = partial(_run_again, call) if again else partial(_run, call)
    rows: dict[Any, list[Any]] = {}
    for job in jobs:
        place = (job.samples, job.queries)
        rows.setdefault(place, []).append(run(job))
    if not rows:
        return _empty(call)
    queries = sorted({q for _, q in rows})
    joined = []
    for part in range(3 if call.statistics else 1):
        row = []
        for q in queries:
            of_samples = [ops.cat([result[part] for result in rows[place]], 1)
                          for place in sorted(p for p in rows if p[1] == q)]
            row.append(ops.cat(of_samples, 0))
        joined.append(ops.cat(row, 2))
    return tuple(joined)


def _size(job: Job) -> int:
    return ((job.samples[1] - job.samples[0]) * (job.heads[1] - job.heads[0])
            * (job.queries[1] - job.queries[0]) * job.keys)


def _empty(call: Call) -> tuple[Tensor, ...]:
    shape = (*call.query.shape[:3], call.value.shape[-1])
    return (call.query.new_zeros(shape), call.query.new_zeros(shape[:3]),
            call.query.new_zeros(shape[:3]))


# ---- which blocks --------------------------------------------------------------------------------


def _jobs(call: Call, block_mask: BlockMask | None) -> Iterator[Job]:
    samples, heads, length, _ = call.query.shape
    keys = call.key.shape[2]
    if min(samples, heads, length) == 0:
        return
    if block_mask is None:
        yield Job((0, samples), (0, heads), (0, length), ((0, keys),), ())
        return
    wanted = _tables(block_mask)
    rows, height = len(wanted[0][0][0]), block_mask.BLOCK_SIZE[0]
    for row in range(rows):
        queries = (row * height, min((row + 1) * height, length))
        if queries[0] >= queries[1]:
            break
        for sample_range, of_sample in _alike(_row(wanted, row), samples):
            for head_range, (full, some) in _alike(of_sample, heads):
                width = block_mask.BLOCK_SIZE[1]
                yield Job(sample_range, head_range, queries, _ranges(full, width, keys),
                          _ranges(some, width, keys))


def _tables(block_mask: BlockMask) -> tuple[list, list]:
    """For samples, heads and rows, which columns are full and which partial, as bools."""
    partly = dense_of(block_mask.kv_num_blocks, block_mask.kv_indices)
    if block_mask.full_kv_num_blocks is None or block_mask.full_kv_indices is None:
        whole = flambeau.zeros_like(partly)
    else:
        whole = dense_of(block_mask.full_kv_num_blocks, block_mask.full_kv_indices)
    four = (1,) * (4 - partly.ndim) + tuple(partly.shape)
    return whole.reshape(four).tolist(), partly.reshape(four).tolist()


def _row(wanted: tuple[list, list], row: int) -> list:
    """The columns of a row, ``[sample][head] -> (full, partial)``."""
    return [[(full[row], some[row]) for full, some in zip(*of_sample, strict=True)]
            for of_sample in zip(*wanted, strict=True)]


def _alike(entries: list, size: int) -> Iterator[tuple[tuple[int, int], Any]]:
    """Ranges of neighbours that are the same; a single entry stands for all."""
    if len(entries) == 1:
        yield (0, size), entries[0]
        return
    start = 0
    for i in range(1, len(entries) + 1):
        if i == len(entries) or entries[i] != entries[start]:
            yield (start, i), entries[start]
            start = i


def _ranges(columns: list, width: int, keys: int) -> tuple[tuple[int, int], ...]:
    """The keys of columns, as ranges of neighbours."""
    found: list[tuple[int, int]] = []
    for column, taken in enumerate(columns):
        start, stop = column * width, min((column + 1) * width, keys)
        if not taken or start >= stop:
            continue
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], stop)
        else:
            found.append((start, stop))
    return tuple(found)


# ---- one block of queries ------------------------------------------------------------------------


def _run_again(call: Call, job: Job) -> tuple[Tensor, ...]:
    from flambeau.utils.checkpoint import checkpoint

    return checkpoint(_run, call, job, use_reentrant=False)


def _run(call: Call, job: Job) -> tuple[Tensor, ...]:
    query = _part(call.query, job, (job.queries,))
    if not job.keys:
        return _nothing(query, call)
    groups = call.query.shape[1] // call.key.shape[1]
    key, value = (_keys_of(x, job, groups) for x in (call.key, call.value))
    if call.score_mod is None and not call.statistics:
        return (ops.scaled_dot_product_attention(query, key, value, attn_mask=_mask(call, job),
                                                 scale=call.scale),)
    wide = flambeau.float64 if query.dtype is flambeau.float64 else flambeau.float32
    scores = (query.to(wide) @ key.to(wide).mT) * call.scale
    if call.score_mod is not None:
        scores = over_indices(call.score_mod, True)(scores, *_places(job, query.device)).to(wide)
    mask = _mask(call, job)
    if mask is not None:
        scores = flambeau.where(mask, scores, -float("inf"))
    return _weighted(scores, value, query.dtype, call.statistics)


def _weighted(scores: Tensor, value: Tensor, dtype: Any, statistics: bool) -> tuple[Tensor, ...]:
    """Sums of values with the softmax of scores; 0 where no key takes part."""
    alone = (scores == -float("inf")).all(-1, keepdim=True)
    weights = ops.softmax(scores.masked_fill(alone, 0.0), -1).masked_fill(alone, 0.0)
    result = (weights.to(dtype) @ value.to(dtype),)
    if not statistics:
        return result
    logsumexp = ops.logsumexp(scores.masked_fill(alone, 0.0), -1)
    return (*result, logsumexp.masked_fill(alone.squeeze(-1), -float("inf")),
            scores.detach().amax(-1))


def _nothing(query: Tensor, call: Call) -> tuple[Tensor, ...]:
    """Queries to which no key belongs; their derivative is zero."""
    shape = tuple(query.shape[:-1])
    result = query.new_zeros((*shape, call.value.shape[-1]))
    low = query.new_full(shape, -float("inf"), dtype=flambeau.float32)
    return (result, low, low) if call.statistics else (result,)


def _part(x: Tensor, job: Job, ranges: tuple[tuple[int, int], ...]) -> Tensor:
    """Ranges of a tensor of the job's samples and heads."""
    (first, last), (low, high) = job.samples, job.heads
    mine = x[first:last] if x.shape[0] > 1 else x.expand(last - first, -1, -1, -1)
    mine = mine[:, low:high]
    parts = [mine[:, :, start:stop] for start, stop in ranges]
    return parts[0] if len(parts) == 1 else ops.cat(parts, 2)


def _keys_of(x: Tensor, job: Job, groups: int) -> Tensor:
    ranges = job.full + job.partial
    if groups == 1:
        return _part(x, job, ranges)
    low, high = job.heads
    first, last = low // groups, -(-high // groups)
    whole = _part(x, Job(job.samples, (first, last), job.queries, (), ()), ranges)
    repeated = whole.repeat_interleave(groups, 1)
    return repeated[:, low - first * groups:high - first * groups]


def _places(job: Job, device: Any) -> list[Tensor]:
    """Indices of the job's samples, heads, queries and keys."""
    keys = [indices(*r, device) for r in job.full + job.partial]
    return [indices(*r, device) for r in (job.samples, job.heads, job.queries)] + [
        keys[0] if len(keys) == 1 else ops.cat(keys)]


def _mask(call: Call, job: Job) -> Tensor | None:
    """Which keys take part in blocks that the function decides on; None for all."""
    if call.mask_mod is None or not job.partial:
        return None
    mask_of: Callable[..., Tensor] = over_indices(call.mask_mod, False)
    places = _places(Job(job.samples, job.heads, job.queries, (), job.partial), call.query.device)
    with flambeau.no_grad():
        mask = mask_of(*places)
    full = sum(stop - start for start, stop in job.full)
    return ops.constant_pad_nd(mask, (full, 0), True) if full else mask
