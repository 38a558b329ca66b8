"""The class of quantized tensors: integers, a dtype and a quantizer."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions
from flambeau.core.layouts import layout, strided
from flambeau.core.quantized.schemes import BITS, Quantizer, packed, qscheme
from flambeau.core.wrapped import Wrapped, new

_op = {**functions, **_core.operators()}


class QuantizedTensor(Wrapped):
    """Integers that stand for numbers; `quantize_per_tensor` makes them.

    What moves elements, and what keeps their order (relu, max pooling, sorting), works on the
    integers. Other arithmetic is refused: it needs the scale of its result.
    """

    _dtype: Any
    _quantizer: Quantizer
    is_quantized = True

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from flambeau.core.quantized.calls import run

        return run(func, tuple(args), dict(kwargs or {}))

    # ---- facts -----------------------------------------------------------------------------------
    @property
    def shape(self) -> Any:
        """The size of every dimension."""
        return self._values.shape

    @property
    def dtype(self) -> Any:
        """``qint8``, ``quint8``, ``qint32``, ``quint4x2`` or ``quint2x4``."""
        return self._dtype

    @property
    def layout(self) -> layout:     # type: ignore[override]
        """Quantized tensors lie in memory as others do."""
        return strided

    T = property(lambda self: self.t() if self.ndim == 2 else self.permute(
        *reversed(range(self.ndim))))
    mT = property(lambda self: self.transpose(-2, -1))
    itemsize = property(lambda self: self._values.itemsize)

    def element_size(self) -> int:
        """Bytes of one element."""
        return int(self._values.element_size())

    def stride(self, dim: int | None = None) -> Any:
        """The strides of the integers."""
        return self._values.stride() if dim is None else self._values.stride(dim)

    def storage_offset(self) -> int:
        """Where the integers begin in their storage."""
        return int(self._values.storage_offset())

    def untyped_storage(self) -> Any:
        """The storage of the integers."""
        return self._values.untyped_storage()

    def storage(self) -> Any:
        """The storage of the integers; a copy where a byte holds several."""
        return (self.int_repr() if self._dtype in BITS else self._values).storage()

    def new(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: a new tensor needs a scale."""
        raise RuntimeError("new() is not supported for quantized tensors: write "
                           "quantize_per_tensor(x, scale, zero_point, dtype)")

    def _like(self, values: Any) -> Any:
        return wrap(values, self._dtype, self._quantizer)

    # ---- integers, numbers, scales ---------------------------------------------------------------
    def int_repr(self) -> Any:
        """A copy of the integers, in int8, uint8 or int32; bytes of several as one row."""
        if self._dtype in BITS:
            return packed(self._values, BITS[self._dtype])
        return self._values.clone()

    def dequantize(self) -> Any:
        """What the integers stand for, in float32."""
        return self._quantizer.numbers(self._values)

    def qscheme(self) -> qscheme:
        """The scheme, such as ``per_tensor_affine``."""
        return self._quantizer.scheme

    def _one(self, what: str) -> Quantizer:
        if self._quantizer.axis is not None:
            raise RuntimeError(f"{what}(): this tensor has a scale for each index of dimension "
                               f"{self._quantizer.axis}: write q_per_channel_scales() and "
                               "q_per_channel_zero_points()")
        return self._quantizer

    def _many(self, what: str) -> Quantizer:
        if self._quantizer.axis is None:
            raise RuntimeError(f"{what}(): this tensor has one scale: write q_scale() and "
                               "q_zero_point()")
        return self._quantizer

    def q_scale(self) -> float:
        """The distance of neighbouring numbers."""
        return float(self._one("q_scale").scale)

    def q_zero_point(self) -> int:
        """The integer that stands for zero."""
        return int(self._one("q_zero_point").zero_point)

    def q_per_channel_scales(self) -> Any:
        """The scale of each channel."""
        return self._many("q_per_channel_scales").scale

    def q_per_channel_zero_points(self) -> Any:
        """The zero point of each channel."""
        return self._many("q_per_channel_zero_points").zero_point

    def q_per_channel_axis(self) -> int:
        """The dimension of the channels."""
        axis = self._many("q_per_channel_axis").axis
        assert axis is not None
        return axis

    # ---- Python ----------------------------------------------------------------------------------
    def item(self) -> Any:
        """The only element, as the number that it stands for."""
        return self.dequantize().item()

    def __bool__(self) -> bool:
        return bool(self.dequantize())

    def _refused(self, what: str) -> RuntimeError:
        return RuntimeError(f".{what} is not supported for quantized tensors: take the numbers, "
                            f"x.dequantize().{what}, or the integers, x.int_repr().{what}")

    def _history(self) -> str:
        return ""

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Refused: rounding has no gradient."""
        if requires_grad:
            raise RuntimeError("requires_grad_(): quantized tensors have no gradients; train with "
                               "fake_quantize_per_tensor_affine, which rounds floats")
        return self

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        from flambeau.core.quantized.printing import text

        return text(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = memo[id(self)] = self._like(self._values.clone())
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        return wrap, (self._values, self._dtype, self._quantizer)


def wrap(values: Any, dtype: Any, quantizer: Quantizer) -> QuantizedTensor:
    """A quantized tensor over integers, which it shares."""
    made: QuantizedTensor = new(QuantizedTensor, values, tuple(values.shape))
    made._dtype, made._quantizer = dtype, quantizer
    return made
