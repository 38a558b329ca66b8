"""Making quantized tensors, and taking their integers, numbers and scales."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions
from flambeau.core.quantized.schemes import RANGES, Quantizer
from flambeau.core.quantized.tensor import QuantizedTensor, wrap

_op = {**functions, **_core.operators()}


def _expect(name: str, x: Any, dtype: Any) -> None:
    if not isinstance(x, _core.Tensor):
        raise TypeError(f"{name}(): argument 'input' must be Tensor, not {type(x).__name__}")
    if dtype not in RANGES:
        raise RuntimeError(f"{name}(): dtype must be one of {', '.join(map(str, RANGES))}, not "
                           f"{dtype}")
    if isinstance(x, QuantizedTensor) or x.dtype is not _core._dtype_named("float32"):
        raise RuntimeError(f"{name}(): Quantize only works on Float Tensor, got {x.dtype}: write "
                           f"{'x.dequantize()' if x.is_quantized else 'x.float()'}")


def _expect_zero_point(name: str, least: int, greatest: int, dtype: Any) -> None:
    low, high = RANGES[dtype]
    if greatest > high:
        raise RuntimeError(f"{name}(): zero_point {greatest} is above upper bound {high} of "
                           f"{dtype}")
    if least < low:
        raise RuntimeError(f"{name}(): zero_point {least} is below lower bound {low} of {dtype}")


def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, dtype: Any) -> Any:
    r"""Quantize a tensor with one scale: :math:`q = \mathrm{clamp}(\mathrm{round}(x / s) + z)`.

    Args:
        input: A float32 tensor, or a list of them.
        scale: The distance of neighbours, a number or a tensor of one; for a list, one each.
        zero_point: The integer that stands for zero; for a list, one each.
        dtype: ``qint8``, ``quint8``, ``qint32``, ``quint4x2`` or ``quint2x4``.

    Returns:
        A quantized tensor; for a list, a tuple of them. No gradient flows through it.

    Raises:
        RuntimeError: The input is not of float32, or the zero point not in the dtype's range.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([-1.0, 0.3, 9.0])
        >>> flambeau.quantize_per_tensor(x, 0.1, 10, flambeau.qint8).int_repr()
        tensor([  0,  13, 100], dtype=flambeau.int8)
    """
    if isinstance(input, (list, tuple)):
        return tuple(quantize_per_tensor(x, float(s), int(z), dtype)
                     for x, s, z in zip(input, scale, zero_point, strict=True))
    _expect("quantize_per_tensor", input, dtype)
    scale, zero_point = float(scale), int(zero_point)
    _expect_zero_point("quantize_per_tensor", zero_point, zero_point, dtype)
    quantizer = Quantizer(scale, zero_point)
    return wrap(quantizer.integers(input.detach(), dtype), dtype, quantizer)


def quantize_per_channel(input: Any, scales: Any, zero_points: Any, axis: int, dtype: Any) -> Any:
    """Quantize a tensor with a scale for each index of one dimension.

    Args:
        input: A float32 tensor.
        scales: One for each index of the dimension.
        zero_points: Integers; floating numbers stand for numbers that are no integers.
        axis: The dimension.
        dtype: ``qint8``, ``quint8``, ``qint32``, ``quint4x2`` or ``quint2x4``.

    Returns:
        A quantized tensor.

    Raises:
        RuntimeError: The input is not of float32, or scales do not fit the dimension.

    Example:
        >>> import flambeau
        >>> x, zero = flambeau.tensor([[-1.0, 0.3], [2.0, 5.0]]), flambeau.tensor([0, 0])
        >>> scales = flambeau.tensor([0.1, 0.5])
        >>> flambeau.quantize_per_channel(x, scales, zero, 0, flambeau.qint8).int_repr()
        tensor([[-10,   3],
                [  4,  10]], dtype=flambeau.int8)
    """
    name = "quantize_per_channel"
    _expect(name, input, dtype)
    if not -input.ndim <= axis < input.ndim:
        raise RuntimeError(f"{name}(): axis {axis} is none of a tensor of {input.ndim} dimensions")
    axis %= input.ndim
    channels = [input.shape[axis]]
    if list(scales.shape) != channels or list(zero_points.shape) != channels:
        raise RuntimeError(
            f"{name}(): length of scales and zero_points must equal the size of dimension {axis}, "
            f"{channels[0]}; got shapes {list(scales.shape)} and {list(zero_points.shape)}")
    if zero_points.dtype.is_floating_point:
        scales, zero_points = scales.detach().float(), zero_points.detach().float()
    else:
        scales, zero_points = scales.detach().double(), zero_points.long()
        if channels[0]:
            _expect_zero_point(name, int(zero_points.min()), int(zero_points.max()), dtype)
    quantizer = Quantizer(scales.clone(), zero_points.clone(), axis)
    return wrap(quantizer.integers(input.detach(), dtype), dtype, quantizer)


#: Scales below it are raised to it, as in PyTorch: the float32 that is nearest to 6.1e-5.
_LEAST_SCALE = 6.0999998822808266e-05


def choose(low: float, high: float, dtype: Any, reduce_range: bool = False) -> tuple[float, int]:
    """The scale and the zero point that hold the numbers between two, and zero itself."""
    least, greatest = RANGES[dtype]
    if reduce_range:
        least, greatest = least // 2, greatest // 2
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (greatest - least)
    if scale < 2.0**-128:     # its reciprocal is no float32
        scale = 0.1
    elif scale < _LEAST_SCALE:
        low, high = low * (_LEAST_SCALE / scale), high * (_LEAST_SCALE / scale)
        scale = _LEAST_SCALE
    from_low, from_high = least - low / scale, greatest - high / scale
    # Of both ends, the one at which rounding the zero point errs less.
    error_low, error_high = abs(least) - abs(low / scale), abs(greatest) - abs(high / scale)
    zero = from_low if error_low < error_high else from_high
    return scale, round(min(max(zero, least), greatest))


def quantize_per_tensor_dynamic(input: Any, dtype: Any, reduce_range: bool) -> Any:
    """Quantize a tensor with the scale that its own least and greatest number ask for.

    Args:
        input: A float32 tensor.
        dtype: ``qint8`` or ``quint8``.
        reduce_range: Whether one bit is left unused, for kernels whose sums have 16 bits.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([-1.0, 0.0, 1.55])
        >>> flambeau.quantize_per_tensor_dynamic(x, flambeau.quint8, False).q_zero_point()
        100
    """
    _expect("quantize_per_tensor_dynamic", input, dtype)
    low, high = (0.0, 0.0) if not input.numel() else map(float, _op["aminmax"](input.detach()))
    return quantize_per_tensor(input, *choose(low, high, dtype, reduce_range), dtype)


def dequantize(input: Any) -> Any:
    """What quantized tensors stand for, in float32.

    Args:
        input: A quantized tensor, or a list of them. Other tensors are converted to float32.

    Example:
        >>> import flambeau
        >>> flambeau.dequantize(flambeau.quantize_per_tensor(flambeau.ones(2), 0.25, 0,
        ...                                                  flambeau.qint8))
        tensor([1., 1.])
    """
    if isinstance(input, (list, tuple)):
        return tuple(map(dequantize, input))
    return input.dequantize() if isinstance(input, QuantizedTensor) else input.float()


def _asked(name: str) -> Any:
    def ask(input: Any) -> Any:
        if not isinstance(input, QuantizedTensor):
            raise RuntimeError(f"{name}(): expected a quantized tensor, and this one is of "
                               f"{input.dtype}: write quantize_per_tensor(x, scale, zero_point, "
                               "dtype)")
        return getattr(input, name)()

    ask.__name__ = ask.__qualname__ = name
    ask.__doc__ = f"``input.{name}()`` of a quantized tensor."
    return ask


int_repr, q_scale, q_zero_point = map(_asked, ("int_repr", "q_scale", "q_zero_point"))
q_per_channel_scales, q_per_channel_zero_points, q_per_channel_axis = map(
    _asked, ("q_per_channel_scales", "q_per_channel_zero_points", "q_per_channel_axis"))
