"""Functions of `torch` that make quantized tensors from their parts, or choose scales."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau import rooms
from flambeau.core import Tensor, _core
from flambeau.core.quantized.making import choose
from flambeau.core.quantized.schemes import Quantizer
from flambeau.core.quantized.tensor import QuantizedTensor, wrap

_OF_INTEGERS = {"uint8": flambeau.quint8, "int8": flambeau.qint8, "int32": flambeau.qint32}


def _quantized_dtype(integers: Tensor) -> Any:
    if integers.dtype.name not in _OF_INTEGERS:
        raise RuntimeError(f"quantized tensors hold uint8, int8 or int32, not {integers.dtype}")
    return _OF_INTEGERS[integers.dtype.name]


def _make_per_tensor_quantized_tensor(input: Tensor, scale: float, zero_point: int) -> Tensor:
    """A quantized tensor of given integers, with one scale."""
    return wrap(input.clone(), _quantized_dtype(input), Quantizer(float(scale), int(zero_point)))


def _channels(scales: Tensor, zero_points: Tensor, axis: int) -> Quantizer:
    if zero_points.dtype.is_floating_point:
        return Quantizer(scales.float().clone(), zero_points.float().clone(), axis)
    return Quantizer(scales.double().clone(), zero_points.long().clone(), axis)


def _make_per_channel_quantized_tensor(input: Tensor, scale: Tensor, zero_point: Tensor,
                                       axis: int) -> Tensor:
    """A quantized tensor of given integers, with a scale for each index of a dimension."""
    return wrap(input.clone(), _quantized_dtype(input), _channels(scale, zero_point, axis))


def _integers(size: Any, dtype: Any, device: Any, memory_format: Any) -> Tensor:
    storage = _core.quantized_storage(dtype)
    if storage is None:
        raise RuntimeError(f"a quantized tensor is of qint8, quint8 or qint32, not {dtype}")
    made = flambeau.empty(tuple(size), dtype=storage, device=device)
    return made if memory_format is None else made.contiguous(memory_format=memory_format)


def _empty_affine_quantized(size: Any, *, scale: float = 1.0, zero_point: int = 0,
                            dtype: Any = None, device: Any = None, memory_format: Any = None,
                            **ignored: Any) -> Tensor:
    """A quantized tensor that is not filled, with one scale."""
    return wrap(_integers(size, dtype, device, memory_format), dtype,
                Quantizer(float(scale), int(zero_point)))


def _empty_per_channel_affine_quantized(size: Any, *, scales: Tensor, zero_points: Tensor,
                                        axis: int, dtype: Any = None, device: Any = None,
                                        memory_format: Any = None, **ignored: Any) -> Tensor:
    """A quantized tensor that is not filled, with a scale for each index of a dimension."""
    return wrap(_integers(size, dtype, device, memory_format), dtype,
                _channels(scales, zero_points, axis))


def empty_quantized(size: Any, qtensor: QuantizedTensor, *, dtype: Any = None, device: Any = None,
                    memory_format: Any = None, **ignored: Any) -> Tensor:
    """A quantized tensor that is not filled, with the scale of another."""
    kind = qtensor.dtype if dtype is None else dtype
    return wrap(_integers(size, kind, device or qtensor.device, memory_format), kind,
                qtensor._quantizer)


def _choose_qparams_per_tensor(self: Tensor, reduce_range: bool = False) -> tuple[float, int]:
    """The scale and the zero point that hold a tensor in ``quint8``."""
    low, high = map(float, flambeau.aminmax(self.detach()))
    return choose(low, high, flambeau.quint8, reduce_range)


def _saturate_weight_to_fp16(weight: Tensor) -> Tensor:
    """Numbers between the least and the greatest of ``float16``."""
    limit = flambeau.finfo(flambeau.float16).max
    return weight.clamp(-limit, limit)


def fused_moving_avg_obs_fake_quant(*args: Any, **kwargs: Any) -> Tensor:
    """Watch numbers by moving averages, and round them: see `flambeau.ao.quantization`."""
    made: Tensor = rooms.enter("ao").quantization.fused_observer.watched_and_rounded(
        *args, **kwargs)
    return made
