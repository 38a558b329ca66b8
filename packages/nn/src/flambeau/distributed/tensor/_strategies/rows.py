"""Layers: normalization, embeddings, attention, convolutions, losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._call import LOCAL, SUM, Call, R, Strategy, rule
from .._layout import part
from ..placement_types import Placement, Shard


@rule("native_layer_norm", "layer_norm_grad")
def normalized(call: Call) -> list[Strategy]:
    """Rows of results from rows of samples; all processes have the weights."""
    x = call.inputs[0]
    first = x.ndim - len(call.args[1]) if call.name == "native_layer_norm" else _leading(call)
    found = []
    for dim in range(first):
        ins = tuple(Shard(dim) if t.ndim == x.ndim else R for t in call.inputs)
        outs: list[Placement] = [Shard(dim) if out.ndim == x.ndim else SUM for out in call.outs]
        found.append(Strategy(tuple(outs), ins))
    return found


def _leading(call: Call) -> int:
    """How many dimensions of samples come before those of the weights."""
    x, mean = call.inputs[0], call.inputs[2]
    reduced = sum(a != b for a, b in zip(x.shape, mean.shape, strict=True))
    weights = [out.ndim for out in call.outs if out.ndim < x.ndim]
    return x.ndim - max([reduced, *weights])


@rule("embedding")
def looked_up(call: Call) -> list[Strategy]:
    """Rows and columns of a table, and rows of indices."""
    indices, ndim = call.inputs[1], call.outs[0].ndim
    columns = Strategy((Shard(ndim - 1),), (Shard(1), R))
    return [columns, Strategy((SUM,), (Shard(0), R)),
            *(Strategy((Shard(dim),), (R, Shard(dim))) for dim in range(indices.ndim))]


def _looked_up_here(call: Call, parts: Sequence[Any], placements: Sequence[Placement]) -> Any:
    """Rows of this process's part of a table, zeros for those of others."""
    table, indices = parts
    args, kwargs = call.with_inputs(parts)
    if Shard(0) not in placements:
        return call.func(*args, **kwargs)
    first = part(call.inputs[0].shape, call.inputs[0]._spec.mesh, placements)[1][0]
    own = indices - first
    there = (own >= 0) & (own < table.shape[0])
    if table.shape[0] == 0:
        return table.new_zeros((*indices.shape, table.shape[1]))
    rows = call.func(table, own.where(there, own.new_zeros(())), *args[2:], **kwargs)
    return rows.masked_fill(~there[..., None], 0)


LOCAL["embedding"] = _looked_up_here


@rule("embedding_grad")
def summed_up(call: Call) -> list[Strategy]:
    """Gradients of a table."""
    grad, indices = call.inputs
    columns = Strategy((Shard(1),), (Shard(grad.ndim - 1), R))
    return [columns, *(Strategy((SUM,), (Shard(dim), Shard(dim))) for dim in range(indices.ndim))]


@rule("attention", "attention_grad")
def attended(call: Call) -> list[Strategy]:
    """Samples and heads, which are all dimensions but the last two."""
    out = call.outs[0]
    if any(x.ndim not in (out.ndim, out.ndim - 1) for x in call.inputs):
        return []
    found = []
    for dim in range(out.ndim - 2):
        sizes = {x.shape[dim] for x in call.inputs}
        if len(sizes) == 1:
            found.append(Strategy((Shard(dim),) * len(call.outs), (Shard(dim),) * len(call.at)))
    return found


@rule("convolution")
def convolved(call: Call) -> list[Strategy]:
    """Samples."""
    others = (R,) * (len(call.inputs) - 1)
    return [Strategy((Shard(0),), (Shard(0), *others))]


@rule("nll_loss_rows")
def lost(call: Call) -> list[Strategy]:
    """Samples; a mean needs the weights of all."""
    reduction = call.args[3]
    if call.inputs[0].ndim < 2 or reduction == 1:
        return []
    others = (R,) * (len(call.inputs) - 2)
    out = SUM if reduction == 2 else Shard(0)
    return [Strategy((out, SUM), (Shard(0), Shard(0), *others))]


@rule("nll_loss_grad")
def lost_back(call: Call) -> list[Strategy]:
    """Samples of the gradient."""
    if call.inputs[1].ndim < 2:
        return []
    grad = call.inputs[0]
    first = R if grad.ndim == 0 else Shard(0)
    others = (R,) * (len(call.inputs) - 3)
    return [Strategy((Shard(0),), (first, Shard(0), Shard(0), *others))]


@rule("one_hot_rows")
def counted(call: Call) -> list[Strategy]:
    """Rows of indices."""
    return [Strategy((Shard(dim),), (Shard(dim),)) for dim in range(call.inputs[0].ndim)]
