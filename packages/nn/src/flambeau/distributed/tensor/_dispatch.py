"""Operators on shared tensors: which parts are exchanged, and what each process computes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

from flambeau import Tensor
from flambeau.utils._pytree import tree_flatten, tree_unflatten

from ._call import LOCAL, RULES, SIZED, VIEWS, Call, Strategy
from ._layout import contiguous_stride
from ._redistribute import redistribute
from ._spec import DTensorSpec
from ._strategies import random, reads
from .placement_types import Placement, Replicate

R = Replicate()


class _State:
    """Whether plain tensors count as shared ones of which each process has all."""

    implicit = False


@contextmanager
def implicit_replication() -> Any:
    """Let operators take plain tensors beside shared ones: each process has all of them."""
    former, _State.implicit = _State.implicit, True
    try:
        yield
    finally:
        _State.implicit = former


def dispatch(func: Any, args: Any, kwargs: Any) -> Any:
    """Run an operator on shared tensors.

    Raises:
        RuntimeError: Plain tensors are among the arguments, or tensors of different meshes.
    """
    call = Call(func, args, kwargs)
    mesh = _share_scalars(call)
    call.size = mesh.size()
    if call.name in reads.HANDLERS:
        return reads.HANDLERS[call.name](call)
    if random.draws(call.name):
        return random.drawn(call)
    written = _written(call)
    if written is not None:
        return _write(call, written, mesh)
    call.infer()
    strategies = _strategies(call)
    chosen = [_chosen(call, strategies, dim) for dim in range(mesh.ndim)]
    results = _computed(call, chosen)
    outs = [tuple(each.outs[k] for each in chosen) for k in range(len(call.outs))]
    return _wrapped(call, results, mesh, outs, chosen)


def _share_scalars(call: Call) -> Any:
    """Let plain tensors that may be mixed with shared ones be shared; return the mesh."""
    first = next(t for t in call.inputs if hasattr(t, "_spec"))
    mesh = first._spec.mesh
    for i in call.at:
        each = call.leaves[i]
        spec = getattr(each, "_spec", None)
        if spec is None:
            if each.ndim != 0 and not _State.implicit:
                raise RuntimeError(
                    f"{call.func}: got mixed Tensor and DTensor, need to convert all Tensor to "
                    "DTensor before calling distributed operators: distribute_tensor(x, "
                    "device_mesh, placements), or DTensor.from_local"
                )
            call.leaves[i] = shared(each, mesh, [R] * mesh.ndim, type(first))
        elif spec.mesh != mesh:
            raise RuntimeError(
                f"{call.func}: tensors of two meshes, {mesh} and {spec.mesh}; redistribute() "
                "does not go from one to another: use full_tensor() and distribute_tensor()"
            )
    return mesh


def shared(local: Any, mesh: Any, placements: Sequence[Placement], kind: Any) -> Any:
    """A tensor of which all processes have all."""
    shape = tuple(local.shape)
    spec = DTensorSpec(mesh, tuple(placements), shape, contiguous_stride(shape), local.dtype)
    return kind(local, spec)


def _strategies(call: Call) -> list[Strategy]:
    everywhere = Strategy((R,) * len(call.outs), (R,) * len(call.at))
    rule = RULES.get(call.name)
    found = [] if rule is None else rule(call)
    return [everywhere, *found]


# ---- which parts are exchanged -------------------------------------------------------------------
def _cost(now: Placement, target: Placement, elements: int) -> float:
    """About how many elements are sent."""
    if now == target:
        return 0
    if now.is_replicate():
        return 0.01 * elements + 0.01
    if now.is_partial():
        return (2 if target.is_replicate() else 2.5) * elements + 1
    return elements + 1 if not target.is_partial() else float("inf")


def _chosen(call: Call, strategies: Sequence[Strategy], dim: int) -> Strategy:
    """The strategy along a dimension of the mesh that sends least."""
    inputs = call.inputs

    def cost(strategy: Strategy) -> float:
        return sum(_cost(x._spec.placements[dim], target, x.numel())
                   for x, target in zip(inputs, strategy.ins, strict=True))

    return min(strategies, key=cost)


def _moved(tensor: Any, target: Sequence[Placement]) -> Any:
    spec = tensor._spec
    return redistribute(tensor._local_tensor, spec.shape, spec.mesh, spec.placements, target)


def _computed(call: Call, chosen: Sequence[Strategy]) -> Any:
    """What this process computes."""
    locals_ = [_moved(x, [each.ins[k] for each in chosen]) for k, x in enumerate(call.inputs)]
    args, kwargs = call.with_inputs(locals_)
    if call.name in LOCAL:
        return LOCAL[call.name](call, locals_, [each.ins[0] for each in chosen])
    if call.name in SIZED:
        mesh, out = call.inputs[0]._spec.mesh, call.outs[0]
        spec = DTensorSpec(mesh, tuple(s.outs[0] for s in chosen), out.shape, out.stride, out.dtype)
        position = SIZED[call.name]
        args = (*args[:position], list(spec.local_shape()), *args[position + 1 :])
    return call.func(*args, **kwargs)


def _wrapped(
    call: Call, results: Any, mesh: Any, placements: Sequence[Sequence[Placement]],
    chosen: Sequence[Strategy],
) -> Any:
    """Results of this process as parts of shared ones."""
    kind = next(type(x) for x in call.inputs if hasattr(x, "_spec"))
    leaves, tree = tree_flatten(results)
    metas = iter(zip(call.outs, placements, strict=True))
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor):
            meta, placed = next(metas)
            spec = DTensorSpec(mesh, tuple(placed), meta.shape, meta.stride, meta.dtype)
            leaves[i] = kind(leaf, spec)
            if call.name in VIEWS:
                leaves[i]._is_copy = _is_copied(call.inputs[0], chosen)
    return tree_unflatten(leaves, tree)


def _is_copied(source: Any, chosen: Sequence[Strategy]) -> bool:
    """Whether a view is one of exchanged elements, writes to which would be lost."""
    ins = tuple(each.ins[0] for each in chosen)
    return ins != source._spec.placements or getattr(source, "_is_copy", False)


# ---- writing -------------------------------------------------------------------------------------
def _written(call: Call) -> Any:
    """The tensor that the operator writes to, None where it makes a new one.

    Raises:
        NotImplementedError: It writes to another argument than the first.
    """
    if not call.func._schema.is_mutable:
        return None
    if call.name.endswith("_") and not call.name.endswith("__"):
        return call.args[0]
    raise NotImplementedError(f"{call.func}: DTensors have no out=; use what it returns")


def _write(call: Call, target: Any, mesh: Any) -> Any:
    """Let each process write to its part, or compute all and keep its part."""
    if getattr(target, "_is_copy", False):
        raise RuntimeError(
            f"{call.func}: this DTensor was indexed or viewed along a dimension that processes "
            "share, so that it is a copy, and what is written to it would be lost; write to the "
            "whole DTensor (flambeau.where), or redistribute() it to Replicate() first"
        )
    spec = target._spec
    call.outs = [target]
    plain = RULES.get(call.name.removesuffix("_"))
    strategies = [] if plain is None else plain(call)
    chosen = []
    for dim in range(mesh.ndim):
        kept = [s for s in [*strategies, Strategy((R,), (R,) * len(call.at))]
                if s.outs[0] == s.ins[0] == spec.placements[dim]]
        if not kept:
            return _write_whole(call, target, mesh)
        chosen.append(_chosen(call, kept, dim))
    _computed(call, chosen)
    return target


def _write_whole(call: Call, target: Any, mesh: Any) -> Any:
    """Let each process compute all, and keep its part."""
    whole = [_moved(x, [R] * mesh.ndim) for x in call.inputs]
    if whole[0] is target._local_tensor:
        whole[0] = whole[0].clone()
    args, kwargs = call.with_inputs(whole)
    call.func(*args, **kwargs)
    spec = target._spec
    mine = redistribute(whole[0], spec.shape, mesh, [R] * mesh.ndim, spec.placements)
    target._local_tensor.copy_(mine)
    return target
