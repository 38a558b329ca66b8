"""Activation functions as modules. Shapes: the output has the shape of the input."""

from __future__ import annotations

from flambeau import Tensor

from .. import functional as F
from .._core import ops
from .module import Module


class _Inplace(Module):
    """An activation whose only option is to overwrite its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_Inplace):
    """``max(x, 0)``.

    Args:
        inplace: Overwrite the input.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.ReLU()(flambeau.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return ops.relu_(input) if self.inplace else ops.relu(input)


class SiLU(_Inplace):
    """``x * sigmoid(x)``.

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


class GELU(Module):
    """``x * Phi(x)`` with the distribution function of the standard normal distribution.

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


class Tanh(Module):
    """``tanh(x)``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Tanh()(flambeau.tensor([0.0]))
        tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.tanh(input)


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Sigmoid()(flambeau.tensor([0.0]))
        tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.sigmoid(input)


class LeakyReLU(_Inplace):
    """``x`` where positive, ``negative_slope * x`` elsewhere.

    Args:
        negative_slope: The slope below zero.
        inplace: Overwrite the input.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.LeakyReLU(0.5)(flambeau.tensor([-1.0, 2.0]))
        tensor([-0.5000,  2.0000])
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        text = f"negative_slope={self.negative_slope}"
        return f"{text}, inplace=True" if self.inplace else text


class ELU(_Inplace):
    """``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Args:
        alpha: Minus the limit at minus infinity.
        inplace: Overwrite the input.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.ELU()(flambeau.tensor([0.0, 2.0]))
        tensor([0., 2.])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        text = f"alpha={self.alpha}"
        return f"{text}, inplace=True" if self.inplace else text


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


class _AlongDim(Module):
    """A function that normalizes along one dimension."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """``exp(x) / sum(exp(x))`` along ``dim``.

    Args:
        dim: The dimension whose values sum to one; leaving it out is deprecated.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Softmax(dim=1)(flambeau.zeros(1, 2))
        tensor([[0.5000, 0.5000]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """``x - log(sum(exp(x)))`` along ``dim``.

    Args:
        dim: The dimension that is normalized; leaving it out is deprecated.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.LogSoftmax(dim=1)(flambeau.zeros(1, 2))
        tensor([[-0.6931, -0.6931]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.log_softmax(input, self.dim, _stacklevel=5)
