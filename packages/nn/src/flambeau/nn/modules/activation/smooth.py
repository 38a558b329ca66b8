"""Smooth rectifiers: near zero on the left, near the identity on the right."""

from __future__ import annotations

from flambeau import Tensor

from ..._core import ops
from ..._siblings import functional as F
from ..module import Module
from ._base import Inplace


class GELU(Module):
    """``x * Phi(x)`` with the distribution function of the standard normal distribution.

    From Hendrycks, Gimpel 2016, "Gaussian error linear units".

    Args:
        approximate: ``"none"``, or ``"tanh"`` for
            ``0.5 * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x**3)))``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.GELU()(flambeau.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8413])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class SiLU(Inplace):
    """``x * sigmoid(x)``, also called swish.

    From Elfwing, Uchibe, Doya 2018, "Sigmoid-weighted linear units".

    Args:
        inplace: Overwrite the input.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.SiLU()(flambeau.tensor([0.0]))
        tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return ops.silu_(input) if self.inplace else ops.silu(input)


class Hardswish(Inplace):
    """``x * min(max(x + 3, 0), 6) / 6``.

    From Howard et al. 2019, "Searching for MobileNetV3".

    Args:
        inplace: Overwrite the input.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Hardswish()(flambeau.tensor([-4.0, 0.0, 4.0]))
        tensor([-0., 0., 4.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Mish(Inplace):
    """``x * tanh(softplus(x))`` (Misra 2019, "Mish: a self regularized activation function").

    Args:
        inplace: Overwrite the input.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Mish()(flambeau.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.mish(input, self.inplace)


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``, and ``x`` itself where ``beta * x > threshold``.

    Args:
        beta: Sharpness of the bend.
        threshold: Where the line begins.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Softplus()(flambeau.tensor([0.0]))
        tensor([0.6931])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"
