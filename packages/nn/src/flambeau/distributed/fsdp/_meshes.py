"""The processes that divide parameters, as a strategy asks for."""

from __future__ import annotations

import os
import weakref
from typing import Any

import flambeau
from flambeau import distributed
from flambeau.distributed import DeviceMesh
from flambeau.distributed.tensor._api import default_mesh

from .api import ShardingStrategy

HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
_made: weakref.WeakKeyDictionary[Any, dict[Any, DeviceMesh]] = weakref.WeakKeyDictionary()


def mesh_of(strategy: ShardingStrategy, group: Any, mesh: Any) -> DeviceMesh:
    """A mesh whose last dimension divides, and whose first one, of two, copies.

    Args:
        strategy: What is divided.
        group: The processes; all by default.
        mesh: A mesh, instead of a group.

    Raises:
        ValueError: Both are given, or a mesh of one dimension for hybrid strategies.
    """
    if mesh is not None:
        if group is not None:
            raise ValueError("Cannot pass both process_group and device_mesh at the same time. "
                             "Please just pass only one of them.")
        if (mesh.ndim == 2) != (strategy in HYBRID):
            raise ValueError(f"FullyShardedDataParallel: {strategy} needs a device_mesh of "
                             f"{2 if strategy in HYBRID else 1} dimensions, not {mesh}")
        given: DeviceMesh = mesh
        return given
    if isinstance(group, tuple):
        raise ValueError("FullyShardedDataParallel: give a device_mesh of two dimensions, copies "
                         "and parts, instead of two groups")
    if strategy is ShardingStrategy.NO_SHARD:
        return _cached(group, 1)
    if strategy in HYBRID:
        count = distributed.get_world_size(group)
        return _cached(group, int(os.environ.get("LOCAL_WORLD_SIZE", count)))
    if group is None or group is distributed.GroupMember.WORLD:
        return default_mesh()
    return DeviceMesh.from_group(group, "cpu")


def _cached(group: Any, parts: int) -> DeviceMesh:
    """The mesh of two dimensions in which this many processes divide."""
    world = group if group is not None else distributed.GroupMember.WORLD
    known = _made.setdefault(world, {})
    if parts not in known:
        ranks = flambeau.tensor(distributed.get_process_group_ranks(group))
        known[parts] = DeviceMesh("cpu", ranks.view(-1, parts))
    return known[parts]
