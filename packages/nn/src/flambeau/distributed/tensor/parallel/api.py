"""Plans of how layers are shared."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from typing import Any

from .._api import default_mesh
from .style import ParallelStyle

__all__ = ["parallelize_module"]


def parallelize_module(
    module: Any,
    device_mesh: Any = None,
    parallelize_plan: ParallelStyle | Mapping[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Any:
    """Let processes share the parameters of a network's layers.

    Args:
        module: The network, which is changed.
        device_mesh: The processes, in one dimension; all by default.
        parallelize_plan: How, for the module, or for submodules by their paths, in which ``*``
            stands for any name.
        src_data_rank: The process whose values count; None: each process's own.

    Returns:
        The network.

    Raises:
        ValueError: The mesh has several dimensions.
        TypeError: A plan is none.

    Example:
        >>> import flambeau
        >>> from flambeau import distributed, nn
        >>> from flambeau.distributed.tensor.parallel import (
        ...     ColwiseParallel, RowwiseParallel, parallelize_module)
        >>> mesh = distributed.init_device_mesh("cpu", (1,))
        >>> net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2))
        >>> net = parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
        >>> net[2].weight.placements, net(flambeau.ones(3, 2)).shape
        ((Shard(dim=1),), flambeau.Size([3, 2]))
        >>> distributed.destroy_process_group()
    """
    mesh = device_mesh or default_mesh()
    if mesh.ndim != 1:
        raise ValueError(f"parallelize_module(): a mesh of one dimension, not {mesh}; give one of "
                         'its dimensions, such as mesh["tp"]')
    if parallelize_plan is None:
        warnings.warn("No parallelize_plan is provided and auto-parallel is not supported at the "
                      "moment, so this parallelize_module call will do nothing.", stacklevel=2)
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, Mapping):
        raise TypeError("Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for "
                        f"parallelize_plan, {type(parallelize_plan)} found!")
    for path, style in parallelize_plan.items():
        found = list(_at(module, path.split("."))) if path else [module]
        if not found:
            warnings.warn(f"Parallelize plan key '{path}' could not be resolved: no submodule "
                          "matching it", stacklevel=2)
        for each in found:
            parallelize_module(each, mesh, style, src_data_rank=src_data_rank)
    return module


def _at(module: Any, atoms: list[str]) -> Iterator[Any]:
    """The submodules at a path of names, in which a name may be a pattern."""
    if not atoms:
        yield module
        return
    for name, child in list(module.named_children()):
        if fnmatch(name, atoms[0]):
            yield from _at(child, atoms[1:])
