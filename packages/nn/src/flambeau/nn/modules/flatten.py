"""``Flatten`` and ``Unflatten``."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau import Tensor

from .module import Module


class Flatten(Module):
    """Merges a range of dimensions into one, all but the first by default.

    Shapes: input ``(*, S_start, ..., S_end, *)``; output ``(*, product of S, *)``.

    Args:
        start_dim: First dimension of the range.
        end_dim: Last dimension of the range.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.Flatten()(flambeau.zeros(2, 3, 4)).shape)
        (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """Merge the dimensions."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits one dimension into several: the opposite of ``Flatten``.

    Shapes: input ``(*, S, *)``; output ``(*, *unflattened_size, *)`` with ``S`` their product.

    Args:
        dim: The dimension to split.
        unflattened_size: The sizes it becomes; one may be -1.

    Raises:
        TypeError: ``dim`` is not a number or ``unflattened_size`` holds something else.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.Unflatten(1, (3, 4))(flambeau.zeros(2, 12)).shape)
        (2, 3, 4)
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(dim, int) or not all(isinstance(n, int) for n in unflattened_size):
            raise TypeError(
                "Unflatten takes the number of a dimension and a tuple of sizes, not "
                f"{dim!r} and {unflattened_size!r}"
            )
        self.dim = dim
        self.unflattened_size = tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        """Split the dimension."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
