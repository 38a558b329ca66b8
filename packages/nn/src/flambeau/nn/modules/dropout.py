"""``Dropout``."""

from __future__ import annotations

from flambeau import Tensor

from .. import functional as F
from .module import Module


class Dropout(Module):
    """Zeroes each element with probability ``p`` when training, and divides the rest by ``1 - p``.

    When evaluating it returns its input.

    Shapes: any.

    Args:
        p: The probability.
        inplace: Overwrite the input.

    Raises:
        ValueError: ``p`` is not between 0 and 1.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Dropout(0.3).eval()(flambeau.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"the probability of dropping is between 0 and 1, not {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Drop elements of ``input`` when training."""
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"
