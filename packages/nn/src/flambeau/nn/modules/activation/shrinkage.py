"""Shrinkage: functions that pull values towards zero."""

from __future__ import annotations

from flambeau import Tensor

from ..._siblings import functional as F
from ..module import Module


class _Shrink(Module):
    """A shrinkage with one bound."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Shrink):
    """``x`` where ``abs(x) > lambd``, zero elsewhere.

    Args:
        lambd: What is small.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Hardshrink()(flambeau.tensor([-1.0, 0.25, 2.0]))
        tensor([-1.,  0.,  2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """``x`` moved towards zero by ``lambd``, and zero where it would cross it.

    Args:
        lambd: How far; at least 0.

    Raises:
        RuntimeError: ``lambd`` is negative (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Softshrink()(flambeau.tensor([-1.0, 0.25, 2.0]))
        tensor([-0.5000,  0.0000,  1.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.softshrink(input, self.lambd)


class Tanhshrink(Module):
    """``x - tanh(x)``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Tanhshrink()(flambeau.tensor([0.0, 1.0]))
        tensor([0.0000, 0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.tanhshrink(input)
