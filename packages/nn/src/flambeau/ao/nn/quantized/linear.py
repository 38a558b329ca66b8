"""Linear layers with integers for weights, inputs and outputs."""
from __future__ import annotations

from typing import Any

import flambeau
import flambeau.ao.nn.intrinsic.fused as fused
import flambeau.ao.nn.quantized._weights as _weights
from flambeau import Tensor
from flambeau import nn as layers
from flambeau.ao.nn.quantized.computed import output_scale
from flambeau.nn import Module

__all__ = ["Linear", "LinearPackedParams"]


class LinearPackedParams(Module):
    """The weight and the bias of a linear layer, as one entry of a state.

    Args:
        dtype: ``qint8``, or ``float16`` of dynamic layers.
    """

    _version = 3    # of PyTorch's entries, which these are

    def __init__(self, dtype: Any = flambeau.qint8) -> None:
        super().__init__()
        self.dtype = dtype
        self.set_weight_bias(flambeau.quantize_per_tensor(flambeau.zeros(1, 1), 1.0, 0,
                                                          flambeau.qint8), None)

    def set_weight_bias(self, weight: Any, bias: Tensor | None) -> None:
        """Take another weight and bias."""
        self._packed_params = (weight, bias)

    def _weight_bias(self) -> tuple[Any, Tensor | None]:
        return self._packed_params

    def forward(self, x: Any) -> Any:
        """Let numbers pass."""
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Write the dtype, and weight and bias as a pair."""
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._packed_params

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
                              missing_keys: Any, unexpected_keys: Any, error_msgs: Any) -> None:
        """Read the dtype and the pair."""
        for name in ("dtype", "_packed_params"):
            if prefix + name in state_dict:
                setattr(self, name, state_dict[prefix + name])
            elif strict:
                missing_keys.append(prefix + name)
        state = {key: value for key, value in state_dict.items()
                 if key not in (prefix + "dtype", prefix + "_packed_params")}
        super()._load_from_state_dict(state, prefix, local_metadata, False, missing_keys,
                                      unexpected_keys, error_msgs)

    def __repr__(self) -> str:
        return repr(self._weight_bias())


class OutputScale:
    """What layers with a quantized output have: ``scale`` and ``zero_point``, in their state."""

    scale: float
    zero_point: int

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Write the scale and the zero point as tensors."""
        super()._save_to_state_dict(destination, prefix, keep_vars)     # type: ignore[misc]
        destination[prefix + "scale"] = flambeau.tensor(float(self.scale))
        destination[prefix + "zero_point"] = flambeau.tensor(int(self.zero_point))

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
                              missing_keys: Any, unexpected_keys: Any, error_msgs: Any) -> None:
        """Read the scale and the zero point."""
        for name, kind in (("scale", float), ("zero_point", int)):
            if prefix + name in state_dict:
                setattr(self, name, kind(state_dict.pop(prefix + name)))
            elif strict:
                missing_keys.append(prefix + name)
        super()._load_from_state_dict(      # type: ignore[misc]
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)


class Linear(OutputScale, Module):
    r"""``linear`` of integers: :math:`q = \mathrm{round}(y / s) + z` of what floats would give.

    Args:
        in_features: Numbers in.
        out_features: Numbers out.
        bias_: Whether there is a bias.
        dtype: ``qint8``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> from flambeau.ao import quantization as q
        >>> network = q.QuantWrapper(nn.Linear(3, 2)).eval()
        >>> network.qconfig = q.default_qconfig
        >>> ready = q.prepare(network)
        >>> _ = ready(flambeau.randn(10, 3))
        >>> q.convert(ready).module
        QuantizedLinear(in_features=3, ...)
    """

    _relu = False
    _version = 3    # of PyTorch's entries, which these are

    def __init__(self, in_features: int, out_features: int, bias_: bool = True,
                 dtype: Any = flambeau.qint8) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.scale, self.zero_point = 1.0, 0
        weight = flambeau.quantize_per_tensor(flambeau.zeros(out_features, in_features), 1.0, 0,
                                              dtype)
        self._packed_params = LinearPackedParams(dtype)
        self._packed_params.set_weight_bias(weight,
                                            flambeau.zeros(out_features) if bias_ else None)

    def _get_name(self) -> str:
        return "QuantizedLinearReLU" if self._relu else "QuantizedLinear"

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def extra_repr(self) -> str:
        """Sizes and scales."""
        return (f"in_features={self.in_features}, out_features={self.out_features}, "
                f"scale={self.scale}, zero_point={self.zero_point}, "
                f"qscheme={self.weight().qscheme()}")

    def forward(self, x: Any) -> Any:
        """Integers out of integers."""
        weight, bias = self._packed_params._weight_bias()
        return _weights.linear(_weights.expect_quantized(self._get_name(), x), weight, bias,
                               self.scale, self.zero_point, self._relu)

    def _weight_bias(self) -> tuple[Any, Tensor | None]:
        return self._packed_params._weight_bias()

    def weight(self) -> Any:
        """The quantized weight."""
        return self._packed_params._weight_bias()[0]

    def bias(self) -> Tensor | None:
        """The bias, in float32."""
        return self._packed_params._weight_bias()[1]

    def set_weight_bias(self, w: Any, b: Tensor | None) -> None:
        """Take another weight and bias."""
        self._packed_params.set_weight_bias(w, b)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of a layer that was prepared and has seen numbers."""
        scale, zero_point = output_scale(mod)
        if isinstance(mod, fused._FusedModule):
            mod = mod[0]
        weight, bias = weight_and_bias(mod)
        made = cls(mod.in_features, mod.out_features, bias is not None)
        made.set_weight_bias(weight, bias)
        made.scale, made.zero_point = scale, zero_point
        return made

    @classmethod
    def from_reference(cls, ref_qlinear: Any, output_scale: float, output_zero_point: int) -> Any:
        """The quantized form of a float layer whose weight is quantized already."""
        made = cls(ref_qlinear.in_features, ref_qlinear.out_features)
        made.set_weight_bias(ref_qlinear.get_quantized_weight(), ref_qlinear.bias)
        made.scale, made.zero_point = float(output_scale), int(output_zero_point)
        return made


def weight_and_bias(mod: Any) -> tuple[Any, Any]:
    """The quantized weight of a float layer or of one for training, and its bias."""
    if hasattr(mod, "weight_fake_quant"):       # trained with rounding: it has an observer
        observer = mod.weight_fake_quant
        if hasattr(mod, "bn"):
            mod = mod.to_float()
            mod = mod[0] if isinstance(mod, layers.Sequential) else mod
    else:
        observer = mod.qconfig.weight()
    observer(mod.weight)
    return _weights.quantized_weight(mod.weight, observer), mod.bias
