"""Rectifiers: the identity where positive, something less steep below zero."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from ..._core import ops
from ..._siblings import functional as F
from ...parameter import Parameter
from ..module import Module
from ._base import Inplace


class ReLU(Inplace):
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


class LeakyReLU(Inplace):
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
        return self._with_inplace(f"negative_slope={self.negative_slope}")


class PReLU(Module):
    """``x`` where positive, ``weight * x`` elsewhere, with a learned weight.

    From He, Zhang, Ren, Sun 2015, "Delving deep into rectifiers".

    Shapes: input ``(N, C, *)`` with one weight for every channel, or any shape with one weight;
    ``weight`` ``(num_parameters,)``.

    Args:
        num_parameters: 1, or the number of channels.
        init: The weight to begin with.
        device: Where the weight is made.
        dtype: Its dtype.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.PReLU()(flambeau.tensor([-1.0, 2.0])).detach()
        tensor([-0.2500,  2.0000])
    """

    weight: Parameter

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(flambeau.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Go back to the weight ``init``."""
        with flambeau.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class RReLU(Inplace):
    """``x`` where positive, ``a * x`` elsewhere, with a slope drawn for every element.

    The slope is uniform in ``[lower, upper)`` when training and ``(lower + upper) / 2`` when
    evaluating (Xu, Wang, Chen, Li 2015, "Empirical evaluation of rectified activations").

    Args:
        lower: The least slope.
        upper: The greatest slope.
        inplace: Overwrite the input.

    Raises:
        ValueError: ``lower`` is greater than ``upper`` (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.RReLU(0.2, 0.4).eval()(flambeau.tensor([-1.0, 2.0]))
        tensor([-0.3000,  2.0000])
    """

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return self._with_inplace(f"lower={self.lower}, upper={self.upper}")


class ELU(Inplace):
    """``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere.

    From Clevert, Unterthiner, Hochreiter 2016, "Exponential linear units".

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
        return self._with_inplace(f"alpha={self.alpha}")


class CELU(Inplace):
    """``max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)``, which has slope 1 at zero.

    From Barron 2017, "Continuously differentiable exponential linear units".

    Args:
        alpha: Minus the limit at minus infinity.
        inplace: Overwrite the input.

    Raises:
        RuntimeError: ``alpha`` is zero (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.CELU(2.0)(flambeau.tensor([-2.0, 1.0]))
        tensor([-1.2642,  1.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return self._with_inplace(f"alpha={self.alpha}")


class SELU(Inplace):
    """``scale * (max(x, 0) + min(alpha * (exp(x) - 1), 0))`` with constants that keep the variance.

    ``scale = 1.0507009873554805`` and ``alpha = 1.6732632423543772`` (Klambauer, Unterthiner,
    Mayr, Hochreiter 2017, "Self-normalizing neural networks").

    Args:
        inplace: Overwrite the input.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.SELU()(flambeau.tensor([-1.0, 1.0]))
        tensor([-1.1113,  1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.selu(input, self.inplace)


class Threshold(Inplace):
    """``x`` where ``x > threshold``, ``value`` elsewhere.

    Args:
        threshold: What the input is compared with.
        value: What stands where it is not greater.
        inplace: Overwrite the input.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Threshold(1.0, 20.0)(flambeau.tensor([0.5, 2.0]))
        tensor([20.,  2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return self._with_inplace(f"threshold={self.threshold}, value={self.value}")
