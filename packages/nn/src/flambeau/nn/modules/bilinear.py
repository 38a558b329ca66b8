"""``Bilinear``."""

from __future__ import annotations

import math
from typing import Any

import flambeau
from flambeau import Tensor

from .._siblings import functional as F
from .._siblings import init
from ..parameter import Parameter
from .module import Module


class Bilinear(Module):
    r"""A bilinear map of two inputs: ``y[k] = x1^T W[k] x2 + b[k]``.

    Weight and bias start uniform in ``[-1/sqrt(in1_features), 1/sqrt(in1_features)]``.

    Shapes: inputs ``(*, in1_features)`` and ``(*, in2_features)``, output ``(*, out_features)``,
    ``weight`` ``(out_features, in1_features, in2_features)``, ``bias`` ``(out_features,)``.

    Args:
        in1_features: Size of the last dimension of the first input.
        in2_features: Size of the last dimension of the second input.
        out_features: Size of the last dimension of the output.
        bias: Whether to add ``b``.
        device: Where the parameters are made.
        dtype: Their dtype.

    Raises:
        ValueError: ``in1_features`` is not positive.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.Bilinear(20, 30, 40)
        >>> tuple(layer(flambeau.zeros(128, 20), flambeau.zeros(128, 30)).shape)
        (128, 40)
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features is greater than 0, not {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(flambeau.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(flambeau.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        bound = 1.0 / math.sqrt(self.in1_features)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Apply the map to the last dimensions of the inputs."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
