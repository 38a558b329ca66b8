"""Size: the shape of a tensor, a tuple that also counts elements."""
from __future__ import annotations

from operator import index

from flambeau.core import _core

TYPE_CHECKING = False  # the import of types would cost time
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import SupportsIndex


class Size(_core.Sizes):  # slices and sums of sizes are sizes
    """Sizes of a tensor's dimensions.

    Example:
        >>> import flambeau
        >>> flambeau.zeros(2, 3).shape
        flambeau.Size([2, 3])
        >>> flambeau.zeros(2, 3).shape.numel()
        6
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[SupportsIndex] = ()) -> Size:
        return super().__new__(cls, map(index, sizes))

    def numel(self) -> int:
        """The product of the sizes."""
        n = 1
        for size in self:
            n *= size
        return n

    def __repr__(self) -> str:
        return f"{_core.shown_package[0]}.Size([{', '.join(map(str, self))}])"
