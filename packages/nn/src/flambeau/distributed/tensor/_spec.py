"""What is known of a shared tensor without its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ._layout import part
from .placement_types import Placement, Shard


class DTensorSpec(NamedTuple):
    """The processes that share a tensor, how they do, and what it is."""

    mesh: Any
    placements: tuple[Placement, ...]
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: Any

    def placed(self, placements: Sequence[Placement]) -> DTensorSpec:
        """The same tensor, shared in another way."""
        return self._replace(placements=tuple(placements))

    @property
    def ndim(self) -> int:
        """How many dimensions the tensor has."""
        return len(self.shape)

    @property
    def device_mesh(self) -> Any:
        """The processes."""
        return self.mesh

    def local_shape(self) -> tuple[int, ...]:
        """The shape of this process's part."""
        return part(self.shape, self.mesh, self.placements)[0]

    def is_sharded(self) -> bool:
        """Whether some dimension is cut."""
        return any(isinstance(each, Shard) for each in self.placements)
