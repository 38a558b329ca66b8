"""Functions of quantized tensors whose names begin with ``quantized_``."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions
from flambeau.core.quantized.schemes import Quantizer
from flambeau.core.quantized.tensor import QuantizedTensor, wrap

_op = {**functions, **_core.operators()}


def _expect(name: str, x: Any) -> QuantizedTensor:
    if not isinstance(x, QuantizedTensor):
        raise TypeError(f"{name}(): the input must be quantized, and it is "
                        f"{getattr(x, 'dtype', type(x).__name__)}: write quantize_per_tensor(x, "
                        "scale, zero_point, dtype)")
    x._one(name)
    return x


def _max_pool(n: int) -> Any:
    name = f"max_pool{n}d"

    def pool(input: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
             ceil_mode: bool = False) -> Any:
        x = _expect(f"quantized_{name}", input)
        step = kernel_size if isinstance(stride, (tuple, list)) and not stride else stride
        return x._like(_op[name](x._values, kernel_size, step, padding, dilation, ceil_mode))

    pool.__name__ = pool.__qualname__ = f"quantized_{name}"
    pool.__doc__ = (f"`flambeau.nn.functional.{name}` of a quantized tensor, which keeps its "
                    "scale; ``stride`` is the size of the window where it is empty.")
    return pool


quantized_max_pool1d, quantized_max_pool2d, quantized_max_pool3d = map(_max_pool, (1, 2, 3))


def quantized_batch_norm(input: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float,
                         output_scale: float, output_zero_point: int) -> Any:
    r"""Batch normalization of a quantized tensor, by given statistics.

    .. math:: q = \mathrm{round}\left(\frac{1}{s} \left(\frac{x - \mathrm{E}[x]}
              {\sqrt{\mathrm{Var}[x] + \epsilon}} \cdot \gamma + \beta\right)\right) + z

    Args:
        input: Quantized, ``[batch, channels, ...]``, with one scale.
        weight: The factor of each channel, floats.
        bias: What is added to each channel.
        mean: The mean of each channel.
        var: The variance of each channel.
        eps: What is added to variances.
        output_scale: Of the result.
        output_zero_point: Of the result.

    Raises:
        TypeError: The input is not quantized, or weight or bias is absent.

    Example:
        >>> import flambeau as fl
        >>> x = fl.quantize_per_tensor(fl.ones(1, 2, 1, 1), 0.5, 0, fl.quint8)
        >>> one, zero = fl.ones(2), fl.zeros(2)
        >>> fl.quantized_batch_norm(x, one * 3, one, zero, one, 0.0, 0.5, 10).int_repr().flatten()
        tensor([18, 18], dtype=flambeau.uint8)
    """
    x = _expect("quantized_batch_norm", input)
    if weight is None or bias is None:
        raise TypeError("quantized_batch_norm(): weight and bias must be given: write "
                        "flambeau.ones(channels) and flambeau.zeros(channels) for none")
    worth = (var + eps).rsqrt() * weight
    along = [-1 if d == 1 else 1 for d in range(x.ndim)]
    # As PyTorch folds scales into the factor: the sum is in steps of the result.
    factor = worth * (x.q_scale() / output_scale)
    added = (bias - mean * worth) / output_scale
    steps = Quantizer(1.0, x.q_zero_point()).numbers(x._values) * factor.reshape(along) \
        + added.reshape(along)
    quantizer = Quantizer(float(output_scale), int(output_zero_point))
    return wrap(Quantizer(1.0, quantizer.zero_point).integers(steps, x._dtype), x._dtype, quantizer)
