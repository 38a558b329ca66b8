"""How the processes along one dimension of a mesh share a tensor."""

from __future__ import annotations

from typing import Any

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """How the processes along one dimension of a mesh share a tensor; a base class."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each process has a part, along this dimension of the tensor if one is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each process has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the tensor is what the processes' tensors make together."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)

    def _key(self) -> tuple[Any, ...]:
        return (type(self),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placement) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


class Shard(Placement):
    """Each process has consecutive rows along a dimension of the tensor.

    All have as many, rounded up, but the last ones, which may have fewer, or none.

    Args:
        dim: The dimension; negative ones are counted from the end where the tensor is known.
    """

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def _key(self) -> tuple[Any, ...]:
        return Shard, self.dim

    @staticmethod
    def local_shard_size_and_offset(size: int, chunks: int, rank: int) -> tuple[int, int]:
        """How many rows a process has, and how many are before them.

        Args:
            size: The tensor's size along the dimension.
            chunks: The number of processes.
            rank: The process.
        """
        most = -(-size // chunks)
        first = min(size, most * rank)
        return min(size, most * (rank + 1)) - first, first

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"

    def __str__(self) -> str:
        return f"S({self.dim})"


class Replicate(Placement):
    """Each process has all of the tensor."""

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


class Partial(Placement):
    """The tensor is what the processes' tensors of its shape make together.

    Args:
        reduce_op: How: ``"sum"``, ``"avg"``, ``"max"``, ``"min"`` or ``"product"``.
    """

    def __init__(self, reduce_op: str = "sum") -> None:
        self.reduce_op = reduce_op

    def _key(self) -> tuple[Any, ...]:
        return Partial, self.reduce_op

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


class NormPartial(Partial):
    """The norm of a tensor, of which each process has the norm of its part.

    Args:
        order: The order of the norm, above 0.
    """

    def __init__(self, order: float) -> None:
        super().__init__(f"norm {order}")
        self.order = order
