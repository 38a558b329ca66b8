"""Random numbers: those that the first process of the mesh draws for the whole tensor."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import distributed

from .._call import Call, R
from .._redistribute import redistribute

_LIKE = frozenset(("rand_like", "randn_like", "randint_like", "bernoulli", "multinomial",
                   "poisson", "normal"))


def draws(name: str) -> bool:
    """Whether an operator draws random numbers."""
    return name in _LIKE or name.startswith("random_")


def agreed(whole: Any, mesh: Any) -> Any:
    """Let all processes of a mesh have the first one's tensor."""
    whole = whole.contiguous()
    for dim in range(mesh.ndim):
        if mesh.size(dim) > 1:
            distributed.broadcast(whole, group=mesh.get_group(dim), group_src=0)
    return whole


def drawn(call: Call) -> Any:
    """Draw for the whole tensor, and keep this process's part."""
    target = call.inputs[0]
    spec = target._spec
    whole = [R] * spec.mesh.ndim
    given = [flambeau.empty(x.shape, dtype=x.dtype, device=x.device) if call.name != "bernoulli"
             else redistribute(x._local_tensor, x.shape, spec.mesh, x._spec.placements, whole)
             for x in call.inputs]
    args, kwargs = call.with_inputs(given)
    numbers = agreed(call.func(*args, **kwargs), spec.mesh)
    placements = [R if p.is_partial() else p for p in spec.placements]
    if numbers.shape != target.shape:
        placements = whole
    mine = redistribute(numbers, numbers.shape, spec.mesh, whole, placements)
    if call.name.startswith("random_"):
        target._local_tensor.copy_(mine)
        return target
    made = spec._replace(placements=tuple(placements), dtype=mine.dtype,
                         shape=tuple(numbers.shape), stride=tuple(numbers.stride()))
    return type(target)(mine, made)
