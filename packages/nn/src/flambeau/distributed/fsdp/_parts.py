"""A parameter of which each process has some rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import nn
from flambeau.distributed.tensor import DTensor, Replicate, Shard
from flambeau.distributed.tensor._layout import contiguous_stride
from flambeau.distributed.tensor._spec import DTensorSpec


class Part:
    """A parameter of which each process has some rows, and where it is found.

    Args:
        homes: The modules that have it, with its names there.
        parameter: The parameter.
        mesh: The processes; rows are divided along the last dimension, copied along others.
        dim: The dimension of the rows.

    Raises:
        ValueError: It has no dimensions, or cannot be divided evenly along another than the first.
        NotImplementedError: It is shared already.
    """

    def __init__(
        self, homes: Sequence[tuple[Any, str]], parameter: Any, mesh: Any, dim: int
    ) -> None:
        name = homes[0][1]
        if isinstance(parameter, DTensor):
            raise NotImplementedError(
                f"fully_shard(): {name} is a DTensor already; tensor parallelism and fully_shard "
                "of the same parameters are not made: leave it in ignored_params")
        if parameter.ndim == 0:
            raise ValueError(f"fully_shard doesn't support scalar parameters. Change {name} to a "
                             "1D tensor with numel equal to 1.")
        count = mesh.size(mesh.ndim - 1)
        if dim != 0 and parameter.shape[dim] % count:
            raise ValueError(f"fully_shard(): {name} of shape {tuple(parameter.shape)} is not "
                             f"divided evenly among {count} processes along dimension {dim}")
        self.homes = list(homes)
        self.shape, self.dim = tuple(parameter.shape), dim
        rows = self.shape[dim]
        self.most = -(-rows // count)                    # rows of a process
        self.size = self.most * (parameter.numel() // rows if rows else 0)
        placements = (*[Replicate()] * (mesh.ndim - 1), Shard(dim))
        stride = contiguous_stride(self.shape)
        self.spec = DTensorSpec(mesh, placements, self.shape, stride, parameter.dtype)
        mine, first = Shard.local_shard_size_and_offset(
            rows, count, mesh.get_local_rank(mesh.ndim - 1))
        local = parameter.detach().narrow(dim, first, mine).clone()
        local = local.contiguous() if not local.is_contiguous() else local
        self.sharded = self._parameter(local, parameter.requires_grad)
        self.register(self.sharded)

    def _parameter(self, local: Any, requires_grad: bool) -> Any:
        return nn.Parameter(DTensor(local, self.spec), requires_grad)

    def register(self, tensor: Any) -> None:
        """Let the modules have a tensor under the parameter's name."""
        for module, name in self.homes:
            module._parameters[name] = tensor

    def adopt(self) -> None:
        """Take the parameter that a program has put there, such as one of another dtype."""
        module, name = self.homes[0]
        found = module._parameters[name]
        if found is not self.sharded and isinstance(found, DTensor):
            self.sharded, self.spec = found, found._spec
            self.register(found)

    def row_shape(self) -> tuple[int, ...]:
        """The shape of a row, which comes after the number of rows."""
        return self.shape[: self.dim] + self.shape[self.dim + 1 :]

    def flat_local(self, dtype: Any) -> Any:
        """This process's rows, as many as any other's, in one dimension."""
        local = self.sharded._local_tensor
        rows = local.movedim(self.dim, 0) if self.dim else local
        flat = rows.to(dtype).reshape(-1)
        if flat.numel() < self.size:
            return flambeau.cat([flat, flat.new_zeros(self.size - flat.numel())])
        return flat

    def whole(self, rows: Any) -> Any:
        """The parameter from all processes' rows, padded, in one dimension."""
        count = flambeau.Size(self.shape).numel()
        shape = (self.shape[self.dim], *self.row_shape())
        found = rows.reshape(-1)[:count].view(shape)
        return found.movedim(0, self.dim).contiguous() if self.dim else found

    def flat_gradient(self, grad: Any, count: int, dtype: Any) -> Any:
        """A gradient as the rows of each process, padded: one row of the result for each."""
        rows = grad.movedim(self.dim, 0) if self.dim else grad
        flat = rows.to(dtype).reshape(-1)
        missing = count * self.size - flat.numel()
        if missing:
            flat = flambeau.cat([flat, flat.new_zeros(missing)])
        return flat.view(count, self.size)

    def local_gradient(self, flat: Any) -> Any:
        """This process's rows of a gradient, as a part of the whole one."""
        local = self.sharded._local_tensor
        shape = (local.shape[self.dim], *self.row_shape())
        rows = flat[: local.numel()].view(shape)
        mine = rows.movedim(0, self.dim).contiguous() if self.dim else rows
        return DTensor(mine.to(local.dtype), self.spec)
