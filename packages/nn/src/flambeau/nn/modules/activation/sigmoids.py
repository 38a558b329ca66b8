"""Functions that level off on both sides, and the gate made of one."""

from __future__ import annotations

import warnings

from flambeau import Tensor

from ..._siblings import functional as F
from ..module import Module
from ._base import Inplace


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


class LogSigmoid(Module):
    """``log(1 / (1 + exp(-x)))``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.LogSigmoid()(flambeau.tensor([0.0, -100.0]))
        tensor([  -0.6931, -100.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.logsigmoid(input)


class Hardsigmoid(Inplace):
    """``min(max(x / 6 + 1/2, 0), 1)``: the sigmoid as three straight lines.

    Args:
        inplace: Overwrite the input.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Hardsigmoid()(flambeau.tensor([-4.0, 0.0, 4.0]))
        tensor([0.0000, 0.5000, 1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


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


class Hardtanh(Inplace):
    """``min(max(x, min_val), max_val)``.

    Args:
        min_val: The least value.
        max_val: The greatest value.
        inplace: Overwrite the input.
        min_value: Deprecated name of ``min_val``.
        max_value: Deprecated name of ``max_val``.

    Raises:
        ValueError: ``max_val`` is not greater than ``min_val``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Hardtanh(-2.0, 2.0)(flambeau.tensor([-4.0, 0.5, 4.0]))
        tensor([-2.0000,  0.5000,  2.0000])
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        self.min_val = _renamed("min", min_val, min_value)
        self.max_val = _renamed("max", max_val, max_value)
        if not self.max_val > self.min_val:
            raise ValueError(
                f"Hardtanh needs min_val < max_val, not {self.min_val} and {self.max_val}"
            )

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return self._with_inplace(f"min_val={self.min_val}, max_val={self.max_val}")


class ReLU6(Hardtanh):
    """``min(max(x, 0), 6)`` (Krizhevsky 2010, "Convolutional deep belief networks on CIFAR-10").

    Args:
        inplace: Overwrite the input.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.ReLU6()(flambeau.tensor([-1.0, 2.0, 8.0]))
        tensor([0., 2., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.relu6(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Softsign(Module):
    """``x / (1 + abs(x))``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Softsign()(flambeau.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.softsign(input)


class GLU(Module):
    """``a * sigmoid(b)`` of the two halves of the input along one dimension.

    From Dauphin, Fan, Auli, Grangier 2017, "Language modeling with gated convolutional networks".

    Shapes: input with an even size along ``dim``; the output has half that size.

    Args:
        dim: The dimension that is halved.

    Raises:
        RuntimeError: The size is odd (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.GLU()(flambeau.tensor([1.0, 2.0, 0.0, 0.0]))
        tensor([0.5000, 1.0000])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


def _renamed(side: str, value: float, old: float | None) -> float:
    """The value under its old name, with a warning, where it was given so."""
    if old is None:
        return value
    warnings.warn(
        f"Hardtanh({side}_value=...) is deprecated and means {side}_val; write {side}_val={old}",
        FutureWarning,
        stacklevel=3,
    )
    return old
