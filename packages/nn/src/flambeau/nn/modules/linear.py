"""``Linear`` and ``Identity``."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from .._siblings import functional as F
from .._siblings import init
from ..parameter import Parameter
from ._sizes import check_integer
from .module import Module


class Identity(Module):
    """Returns its input: a placeholder where a network may have a layer.

    Args:
        args: Ignored, so that any layer can be replaced.
        kwargs: Ignored.

    Example:
        >>> from flambeau import nn
        >>> nn.Identity(54, unused=True)(3)
        3
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """Return ``input``."""
        return input


class Linear(Module):
    r"""An affine map of the last dimension: ``y = x W^T + b``.

    Weight and bias start uniform in ``[-1/sqrt(in_features), 1/sqrt(in_features)]``.

    Shapes: input ``(*, in_features)``, output ``(*, out_features)``, ``weight``
    ``(out_features, in_features)``, ``bias`` ``(out_features,)``.

    Args:
        in_features: Size of the last dimension of the input.
        out_features: Size of the last dimension of the output.
        bias: Whether to add ``b``.
        device: Where the parameters are made.
        dtype: Their dtype.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.Linear(20, 30)(flambeau.zeros(128, 20)).shape)
        (128, 30)
    """

    in_features: int
    out_features: int
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_integer(self, in_features=in_features, out_features=out_features)
        self.in_features = in_features
        self.out_features = out_features
        empty = flambeau.empty(out_features, in_features, device=device, dtype=dtype)
        self.weight = Parameter(empty)
        if bias:
            self.bias = Parameter(flambeau.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        init.fan_in_uniform_(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the map to the last dimension of ``input``."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )
