"""Processes in rows, columns and further dimensions, with a group for each line among them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau

from .groups import GroupMember, ProcessGroup
from .starting import init_process_group, new_group

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """Processes, by their numbers, as the elements of a tensor.

    Along each dimension the processes of a line are a group. All processes of the program make the
    mesh, those that are not in it too.

    Args:
        device_type: Where the processes keep their tensors: ``"cpu"`` or ``"cuda"``.
        mesh: The numbers of the processes, as a tensor or nested lists.
        mesh_dim_names: What the dimensions are called.
        backend_override: Accepted for compatibility.

    Raises:
        ValueError: A process is there twice, or the names are not as many as the dimensions.

    Example:
        >>> from flambeau import distributed
        >>> distributed.init_process_group("gloo", world_size=1, rank=0)
        >>> mesh = distributed.device_mesh.DeviceMesh("cpu", [[0]], mesh_dim_names=("dp", "tp"))
        >>> mesh, mesh["tp"].get_local_rank()
        (DeviceMesh((dp=1, tp=1), 'cpu'), 0)
        >>> distributed.destroy_process_group()
    """

    def __init__(self, device_type: str, mesh: Any, *,
                 mesh_dim_names: Sequence[str] | None = None,
                 backend_override: Any = None) -> None:
        if GroupMember.WORLD is None:
            init_process_group()
        self.device_type = device_type
        self.mesh = flambeau.as_tensor(mesh).to(flambeau.int64).cpu()
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if self.mesh.unique().numel() != self.mesh.numel():
            raise ValueError(f"DeviceMesh(): a process is twice in {self.mesh.tolist()}")
        if self.mesh_dim_names is not None and len(self.mesh_dim_names) != self.mesh.ndim:
            raise ValueError(f"DeviceMesh(): {len(self.mesh_dim_names)} names for "
                             f"{self.mesh.ndim} dimensions: {self.mesh_dim_names}")
        self._groups = [self._group_along(dim) for dim in range(self.mesh.ndim)]

    def _group_along(self, dim: int) -> ProcessGroup | None:
        """This process's group along a dimension; all processes make the groups of all lines."""
        lines = self.mesh.movedim(dim, -1).reshape(-1, self.mesh.shape[dim]).tolist()
        made = [new_group(line) for line in lines]
        return next((group for group in made if isinstance(group, ProcessGroup)), None)

    @staticmethod
    def from_group(group: Any, device_type: str, mesh: Any = None, *,
                   mesh_dim_names: Sequence[str] | None = None) -> DeviceMesh:
        """A mesh of groups that there are, of which this process is a member.

        Args:
            group: The group, or a list of the groups along each dimension.
            device_type: Where the processes keep their tensors: ``"cpu"`` or ``"cuda"``.
            mesh: The numbers of the processes; may be left out for one group.
            mesh_dim_names: What the dimensions are called.

        Raises:
            ValueError: There are several groups and no ``mesh``, or not one for each dimension.
        """
        groups = list(group) if isinstance(group, list | tuple) else [group]
        if mesh is None and len(groups) > 1:
            raise ValueError("from_group(): give mesh, the numbers of the processes, with several "
                             "groups")
        made = DeviceMesh.__new__(DeviceMesh)
        ranks = groups[0].ranks if mesh is None else mesh
        made.device_type = device_type
        made.mesh = flambeau.as_tensor(ranks).to(flambeau.int64).cpu()
        made.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        made._groups = groups
        if made.mesh.ndim != len(groups):
            raise ValueError(f"from_group(): {len(groups)} groups for a mesh of {made.mesh.ndim} "
                             "dimensions")
        return made

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return int(self.mesh.ndim)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many processes there are along each."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes there are, in all or along a dimension."""
        return int(self.mesh.numel() if mesh_dim is None else self.mesh.shape[mesh_dim])

    def get_rank(self) -> int:
        """The number of this process among all."""
        assert GroupMember.WORLD is not None
        return GroupMember.WORLD.rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Where this process is in the mesh; None: it is not."""
        found = (self.mesh == self.get_rank()).nonzero().tolist()
        return tuple(found[0]) if found else None

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The number of this process along a dimension.

        Args:
            mesh_dim: Its number or name; may be left out where there is one dimension.

        Raises:
            RuntimeError: Several dimensions, or this process is not in the mesh.
        """
        where = self.get_coordinate()
        if where is None:
            raise RuntimeError(f"get_local_rank(): rank {self.get_rank()} is not in {self!r}")
        return where[self._numbered("get_local_rank", mesh_dim)]

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of the processes in line with this one along a dimension.

        Args:
            mesh_dim: Its number or name; may be left out where there is one dimension.

        Raises:
            RuntimeError: Several dimensions, or this process is not in the mesh.
        """
        group = self._groups[self._numbered("get_group", mesh_dim)]
        if group is None:
            raise RuntimeError(f"get_group(): rank {self.get_rank()} is not in {self!r}")
        return group

    def get_all_groups(self) -> list[ProcessGroup]:
        """The groups of this process along all dimensions."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """The part of the mesh that this process is in along some dimensions, by name."""
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else mesh_dim_names
        if self.mesh_dim_names is None:
            raise RuntimeError("DeviceMesh: a part is named by its dimensions, and these have no "
                               "names: give mesh_dim_names")
        if unknown := [name for name in names if name not in self.mesh_dim_names]:
            raise KeyError(f"DeviceMesh: {unknown} are none of {self.mesh_dim_names}")
        dims = [self.mesh_dim_names.index(name) for name in names]
        where = self.get_coordinate()
        part = DeviceMesh.__new__(DeviceMesh)
        part.device_type, part.mesh_dim_names = self.device_type, tuple(names)
        fixed = [slice(None) if dim in dims or where is None else where[dim]
                 for dim in range(self.ndim)]
        left = sorted(dims)
        part.mesh = self.mesh[tuple(fixed)].permute([left.index(dim) for dim in dims])
        part._groups = [self._groups[dim] for dim in dims]
        return part

    def _numbered(self, what: str, dim: int | str | None) -> int:
        if dim is None:
            if self.ndim != 1:
                raise RuntimeError(f"{what}(): the mesh has {self.ndim} dimensions: give mesh_dim")
            return 0
        if not isinstance(dim, str):
            return range(self.ndim)[dim]
        if self.mesh_dim_names is None or dim not in self.mesh_dim_names:
            raise KeyError(f"{what}(): {dim!r} is none of the dimensions {self.mesh_dim_names}")
        return self.mesh_dim_names.index(dim)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        numbers = tuple(self.mesh.flatten().tolist())
        return self.device_type, self.shape, numbers, self.mesh_dim_names

    def __repr__(self) -> str:
        names = self.mesh_dim_names or [""] * self.ndim
        sizes = ", ".join(f"{name}={size}" if name else str(size)
                          for name, size in zip(names, self.shape, strict=True))
        return f"DeviceMesh(({sizes}), {self.device_type!r})"


def init_device_mesh(device_type: str, mesh_shape: Sequence[int], *,
                     mesh_dim_names: Sequence[str] | None = None,
                     backend_override: Any = None) -> DeviceMesh:
    """The processes from 0 on, in order, as a mesh of this shape.

    Args:
        device_type: Where they keep their tensors: ``"cpu"`` or ``"cuda"``.
        mesh_shape: How many there are along each dimension.
        mesh_dim_names: What the dimensions are called.
        backend_override: Accepted for compatibility.

    Returns:
        The mesh.

    Raises:
        RuntimeError: There are fewer processes, or a name is there twice.

    Example:
        >>> from flambeau import distributed
        >>> mesh = distributed.init_device_mesh("cpu", (1,), mesh_dim_names=("dp",))
        >>> mesh.size(), mesh.get_group().size()
        (1, 1)
        >>> distributed.destroy_process_group()
    """
    if mesh_dim_names is not None and len(set(mesh_dim_names)) != len(mesh_dim_names):
        raise RuntimeError(f"init_device_mesh(): a name is twice in {tuple(mesh_dim_names)}")
    if GroupMember.WORLD is None:
        init_process_group()
    assert GroupMember.WORLD is not None
    shape = tuple(mesh_shape)
    count = flambeau.Size(shape).numel()
    if count > GroupMember.WORLD.size():
        raise RuntimeError(f"init_device_mesh(): a mesh of shape {shape} has {count} processes, "
                           f"and there are {GroupMember.WORLD.size()}")
    return DeviceMesh(device_type, flambeau.arange(count).reshape(shape),
                      mesh_dim_names=mesh_dim_names)
