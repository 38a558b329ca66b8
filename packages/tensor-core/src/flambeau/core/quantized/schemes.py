"""How numbers are quantized: dtypes, schemes, and the scales and zero points of one tensor."""
from __future__ import annotations

from typing import Any, NamedTuple

from flambeau.core import _core, functions, ops
from flambeau.core.layouts import _Word

_op = {**functions, **_core.operators()}

_FLOAT = _core._dtype_named("float32")
qint8, quint8, qint32, quint4x2, quint2x4 = _core.quantized_dtypes()
#: Least and greatest integer of each dtype.
RANGES = {qint8: (-128, 127), quint8: (0, 255), qint32: (-(2**31), 2**31 - 1), quint4x2: (0, 15),
          quint2x4: (0, 3)}
#: Bits of an element of the dtypes of which a byte holds several.
BITS = {quint4x2: 4, quint2x4: 2}


class qscheme(_Word):
    """How the integers of a quantized tensor stand for numbers.

    Example:
        >>> import flambeau
        >>> flambeau.per_tensor_affine
        flambeau.per_tensor_affine
    """

    __slots__ = ()


per_tensor_affine = qscheme("per_tensor_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_affine = qscheme("per_channel_affine")
per_channel_symmetric = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")


class Quantizer(NamedTuple):
    """Scales and zero points: two numbers, or two tensors and the dimension that they run along."""

    scale: Any
    zero_point: Any
    axis: int | None = None

    @property
    def scheme(self) -> qscheme:
        """The scheme of tensors that are quantized so."""
        if self.axis is None:
            return per_tensor_affine
        if self.zero_point.dtype.is_floating_point:
            return per_channel_affine_float_qparams
        return per_channel_affine

    def along(self, values: Any, ndim: int) -> Any:
        """Values of channels, which broadcast against a tensor."""
        return values.reshape([-1 if k == self.axis else 1 for k in range(ndim)])

    def integers(self, x: Any, dtype: Any) -> Any:
        r"""The integers that stand for numbers: ``clamp(round(x / scale) + zero_point)``.

        The product with ``1 / scale`` is rounded to float32 as PyTorch's kernels round it, halves
        go to the even neighbour, and NaN becomes the greatest integer.
        """
        low, high = RANGES[dtype]
        if self.axis is None and dtype in (qint8, quint8) and x.dtype is _FLOAT:
            storage: Any = _core.quantized_storage(dtype)
            return ops.quantize_values(x, self.scale, self.zero_point, storage)
        if self.axis is None:
            scale = _float32(self.scale)
            inverse = 1.0 / scale if scale else float("inf")
            steps, zero = x * _float32(inverse), self.zero_point
        elif self.scheme is per_channel_affine_float_qparams:
            scale, zero = (self.along(v.float(), x.ndim) for v in (self.scale, self.zero_point))
            return _stored(_op["round"](x * scale.reciprocal() + zero), low, high, dtype)
        else:
            steps = x * self.along(self.scale.float(), x.ndim).reciprocal()
            zero = self.along(self.zero_point.float(), x.ndim)
        return _stored(_op["round"](steps).double() + zero, low, high, dtype)

    def numbers(self, integers: Any) -> Any:
        """What integers stand for, in float32: ``scale * (q - zero_point)``."""
        if self.axis is None and integers.dtype.itemsize == 1:
            return ops.dequantize_values(integers, self.scale, self.zero_point)
        if self.axis is None:
            return (integers.double() - float(self.zero_point)).float() * _float32(self.scale)
        zero = self.zero_point if self.scheme is per_channel_affine_float_qparams \
            else self.zero_point.double()
        steps = integers.to(zero.dtype) - self.along(zero, integers.ndim)
        return steps.float() * self.along(self.scale.float(), integers.ndim)

    def same(self, other: Quantizer) -> bool:
        """Whether both say the same."""
        if (self.axis is None) != (other.axis is None):
            return False
        if self.axis is None or other.axis is None:
            return bool(self.scale == other.scale and self.zero_point == other.zero_point)
        return self.axis == other.axis and bool(_op["equal"](self.scale, other.scale)) \
            and bool(_op["equal"](self.zero_point, other.zero_point))


def _float32(number: float) -> float:
    """The number that float32 has for a Python number."""
    return float(_op["full"]((), number, dtype=_core._dtype_named("float64")).float().item())


def _stored(numbers: Any, low: int, high: int, dtype: Any) -> Any:
    """Integral numbers as integers of the dtype; NaN becomes the greatest."""
    kept = _op["nan_to_num"](numbers, nan=float(high)).clamp(low, high)
    return kept.to(_core.quantized_storage(dtype))


def packed(values: Any, bits: int) -> Any:
    """Small integers side by side in bytes, the first of them in the lowest bits.

    Args:
        values: ``uint8``, one integer in each element.
        bits: Of an integer.
    """
    each = 8 // bits
    flat = values.reshape(-1)
    rows = _op["pad"](flat, (0, -flat.numel() % each)).reshape(-1, each).int()
    weights = _op["stack"]([_op["full"]((), 1 << bits * i, dtype=rows.dtype)
                            for i in range(each)])
    return (rows * weights.to(rows.device)).sum(1).to(values.dtype)
