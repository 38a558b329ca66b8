"""Functions that compute on each process's part."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.utils._pytree import tree_flatten, tree_unflatten

from .._api import DTensor


def local_map(
    func: Callable[..., Any] | None = None,
    out_placements: Any = None,
    in_placements: Any = None,
    in_grad_placements: Any = None,
    device_mesh: Any = None,
    *,
    redistribute_inputs: bool = False,
    track_variadic: bool = False,
) -> Callable[..., Any]:
    """Let a function of plain tensors compute on each process's part of shared ones.

    Args:
        func: The function; without one, what is returned takes it.
        out_placements: Placements of the result, or a tuple of those of each result.
        in_placements: Placements of each argument; None for what is no shared tensor.
        in_grad_placements: Those of their gradients.
        device_mesh: The processes; those of the arguments by default.
        redistribute_inputs: Whether arguments are exchanged that are shared otherwise.
        track_variadic: Accepted for compatibility.

    Returns:
        A function of shared tensors.

    Raises:
        ValueError: An argument is shared otherwise.
    """
    if func is None:
        return functools.partial(
            local_map, out_placements=out_placements, in_placements=in_placements,
            in_grad_placements=in_grad_placements, device_mesh=device_mesh,
            redistribute_inputs=redistribute_inputs)
    function: Callable[..., Any] = func

    @functools.wraps(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_flatten(args)
        mesh = device_mesh
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, DTensor):
                mesh = mesh or leaf.device_mesh
                leaves[i] = _part(leaf, _of(in_placements, i), _of(in_grad_placements, i),
                                  redistribute_inputs)
        results = function(*tree_unflatten(leaves, tree), **kwargs)
        if mesh is None:
            return results
        found, form = tree_flatten(results)
        several = isinstance(results, tuple | list)
        made = [_joined(each, out_placements[i] if several else out_placements, mesh)
                for i, each in enumerate(found)]
        return tree_unflatten(made, form)

    return mapped


def _of(placements: Sequence[Any] | None, i: int) -> Any:
    return None if placements is None else placements[i]


def _part(x: DTensor, placements: Any, grads: Any, exchange: bool) -> Any:
    if placements is not None and tuple(placements) != x.placements:
        if not exchange:
            raise ValueError(f"local_map(): an argument is shared as {x.placements}, not as "
                             f"{tuple(placements)}; give redistribute_inputs=True")
        x = x.redistribute(placements=placements)
    return x.to_local(grad_placements=grads)


def _joined(local: Any, placements: Any, mesh: Any) -> Any:
    return local if placements is None else DTensor.from_local(local, mesh, placements)
