"""Which elements of a tensor each process has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .placement_types import Placement, Replicate, Shard


def normalized(placements: Sequence[Placement] | None, mesh: Any, ndim: int | None) -> tuple[
    Placement, ...
]:
    """Placements for each dimension of a mesh, with dimensions counted from the start.

    Args:
        placements: The placements; all are `Replicate` where there are none.
        mesh: The mesh.
        ndim: How many dimensions the tensor has, None where that is not known.

    Raises:
        ValueError: There are more or fewer placements, or no such dimension.
        TypeError: What is given is no placement.
    """
    given = [Replicate()] * mesh.ndim if placements is None else list(placements)
    if len(given) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements "
            f"length: {len(given)}, and device_mesh.ndim: {mesh.ndim}."
        )
    found: list[Placement] = []
    for each in given:
        if not isinstance(each, Placement):
            raise TypeError(f"placements are Shard(dim), Replicate() or Partial(), not {each!r}")
        if isinstance(each, Shard) and ndim is not None:
            if not -ndim <= each.dim < max(ndim, 1):
                raise ValueError(f"{each!r}: the tensor has {ndim} dimensions")
            found.append(Shard(each.dim % ndim if ndim else 0))
        else:
            found.append(each)
    return tuple(found)


def part(shape: Sequence[int], mesh: Any, placements: Sequence[Placement]) -> tuple[
    tuple[int, ...], tuple[int, ...]
]:
    """The shape of this process's part of a tensor, and where it begins.

    A dimension that is cut along several dimensions of the mesh is cut along the first one first.

    Args:
        shape: The shape of the tensor.
        mesh: The processes.
        placements: How they share it.

    Returns:
        A shape and an offset; sizes are 0 where this process is not in the mesh.
    """
    where = mesh.get_coordinate()
    if where is None:
        return (0,) * len(shape), (0,) * len(shape)
    sizes, offsets = list(shape), [0] * len(shape)
    for i, each in enumerate(placements):
        if isinstance(each, Shard):
            dim = each.dim
            sizes[dim], first = Shard.local_shard_size_and_offset(
                sizes[dim], mesh.size(i), where[i]
            )
            offsets[dim] += first
    return tuple(sizes), tuple(offsets)


def contiguous_stride(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor without gaps."""
    strides, count = [], 1
    for size in reversed(shape):
        strides.append(count)
        count *= max(size, 1)
    return tuple(reversed(strides))
