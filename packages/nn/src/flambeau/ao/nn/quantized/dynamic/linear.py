"""Linear layers with weights of integers, for floats."""
from __future__ import annotations

from typing import Any

import flambeau
import flambeau.ao.nn.intrinsic.fused as fused
import flambeau.ao.nn.quantized._weights as _weights
import flambeau.ao.nn.quantized.linear as static
from flambeau import Tensor
from flambeau.nn import functional as F

__all__ = ["Linear", "LinearReLU"]


class Linear(static.Linear):
    """A linear layer whose weight is of ``qint8`` and whose input is rounded as it comes.

    Each row of the input has a scale of its own (PyTorch: one for all rows), and products of
    integers are summed exactly. With ``dtype=float16`` the weight alone is rounded.

    Args:
        in_features: Numbers in.
        out_features: Numbers out.
        bias_: Whether there is a bias.
        dtype: ``qint8`` or ``float16``.

    Example:
        >>> from flambeau import nn
        >>> from flambeau.ao.quantization import quantize_dynamic
        >>> quantize_dynamic(nn.Linear(3, 2))
        DynamicQuantizedLinear(in_features=3, out_features=2, dtype=flambeau.qint8, ...)
    """

    _version = 4    # of PyTorch's entries, which these are

    def __init__(self, in_features: int, out_features: int, bias_: bool = True,
                 dtype: Any = flambeau.qint8) -> None:
        super().__init__(in_features, out_features, bias_, flambeau.qint8)
        self._packed_params.dtype = dtype
        if dtype is flambeau.float16:
            self.set_weight_bias(self.weight().dequantize().half(), self.bias())

    def _get_name(self) -> str:
        return "DynamicQuantizedLinearReLU" if self._relu else "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        """Sizes, and how the weight is quantized."""
        words = f"in_features={self.in_features}, out_features={self.out_features}, " \
                f"dtype={self._packed_params.dtype}"
        is_float = self._packed_params.dtype is flambeau.float16
        return words if is_float else f"{words}, qscheme={self.weight().qscheme()}"

    def forward(self, x: Tensor) -> Tensor:
        """Floats out of floats."""
        out = self._product(x)
        return F.relu(out) if self._relu else out

    def _product(self, x: Tensor) -> Tensor:
        weight, bias = self._packed_params._weight_bias()
        return dynamic_product(x, weight, bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of a float layer."""
        qconfig = getattr(mod, "qconfig", None)
        if isinstance(mod, fused._FusedModule):
            mod = mod[0]
        weight = dynamic_weight(mod.weight, qconfig)
        made = cls(mod.in_features, mod.out_features, mod.bias is not None)
        made._packed_params.dtype = weight.dtype
        made.set_weight_bias(weight, mod.bias)
        return made


class LinearReLU(Linear):
    """`Linear` and a ReLU."""

    _relu = True


def dynamic_weight(weight: Tensor, qconfig: Any) -> Any:
    """A weight as a configuration for dynamic quantization wants it."""
    from flambeau.ao.quantization.qconfig import default_dynamic_qconfig

    observer = (qconfig or default_dynamic_qconfig).weight()
    if observer.dtype is flambeau.float16:
        return weight.detach().half()
    observer(weight.detach())
    return _weights.quantized_weight(weight, observer)


def _is_shifted(zero_point: Any) -> bool:
    """Whether a zero point is not 0: a fact of the weight, of which traces are shown nothing."""
    if isinstance(zero_point, Tensor):
        found: bool = flambeau.core._core.call_unwatched(lambda: bool(zero_point.any()))
        return found
    return bool(zero_point)


def dynamic_product(x: Tensor, weight: Any, bias: Tensor | None) -> Tensor:
    """``linear`` of floats with a weight of integers, or of float16."""
    if weight.dtype is flambeau.float16:
        return F.linear(x, weight.float(), bias)
    if _is_shifted(weight._quantizer.zero_point):
        return F.linear(x, weight.dequantize(), bias)
    scales = _weights.scales_of(weight).expand(weight.shape[0]).contiguous()
    product: Any = flambeau.core._core.operators()["quantized_linear"]
    bias = None if bias is None else bias.detach()
    made: Tensor = product(x.detach().float(), weight._values, scales, bias)
    return made
