"""Quantized tensors in files: integers, and the scales and zero points that belong to them."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core
from flambeau.core.io.errors import fail

KIND = "quantized"
#: Storages of PyTorch that hold integers of quantized tensors -> the dtype of the integers.
STORAGES = {"QInt8": "int8", "QUInt8": "uint8", "QInt32": "int32"}
SCHEMES = ("per_tensor_affine", "per_channel_affine", "per_channel_affine_float_qparams")


def parts_of(x: Any) -> list[tuple[str, Any]]:
    """The integers, and scales and zero points where there is one for each channel.

    Args:
        x: A quantized tensor.
    """
    if x._quantizer.axis is None:
        return [("integers", x._values)]
    return [("integers", x._values), ("scales", x._quantizer.scale),
            ("zero_points", x._quantizer.zero_point)]


def facts_of(x: Any) -> list[Any]:
    """The dtype and the axis; a scale for all as digits, and its zero point.

    Args:
        x: A quantized tensor.
    """
    scale, zero_point, axis = x._quantizer
    one = [None, None] if axis is not None else [float(scale).hex(), int(zero_point)]
    return [KIND, x._dtype.name, axis, *one]


def joined(facts: Any, parts: Any) -> Any:
    """The tensor of these parts; damaged ones are refused.

    Args:
        facts: What `facts_of` gave.
        parts: Dense tensors, in the order of `parts_of`.
    """
    try:
        _, dtype, axis, scale, zero_point = facts
        integers, *channels = parts
        if axis is None:
            scale = float.fromhex(scale)
        else:
            scale, zero_point = channels
        return _made(integers, dtype, scale, zero_point, axis)
    except (AttributeError, TypeError, ValueError) as error:
        fail(f"a quantized tensor of the file is damaged: {error}")


def _made(integers: Any, name: Any, scale: Any, zero_point: Any, axis: Any) -> Any:
    from flambeau.core.quantized.schemes import Quantizer
    from flambeau.core.quantized.tensor import wrap

    dtypes = {dtype.name: dtype for dtype in _core.quantized_dtypes()}
    if type(name) is not str or name not in dtypes:
        raise ValueError(f"no quantized dtype is named {name!r}")
    if integers.dtype is not _core.quantized_storage(dtypes[name]):
        raise ValueError(f"{name} does not lie in {integers.dtype}")
    if axis is None:
        if type(zero_point) is not int:
            raise ValueError("the zero point is no integer")
        return wrap(integers, dtypes[name], Quantizer(float(scale), zero_point))
    if type(axis) is not int or not 0 <= axis < integers.ndim:
        raise ValueError(f"there is no dimension {axis}")
    if any(tuple(x.shape) != (integers.shape[axis],) for x in (scale, zero_point)):
        raise ValueError("there is not one scale for each channel")
    return wrap(integers, dtypes[name], Quantizer(scale.detach(), zero_point.detach(), axis))


def rebuilt(integers: Any, parameters: Any) -> Any:
    """A quantized tensor of a checkpoint of PyTorch.

    Args:
        integers: A view of its storage.
        parameters: The scheme's name and what it needs.
    """
    names = {dtype: name.lower() for name, dtype in STORAGES.items()}
    kind = names.get(integers.dtype.name, "")
    if type(parameters) is not tuple or not parameters or parameters[0] not in SCHEMES:
        fail("a quantized tensor of the checkpoint has no scheme; the file is damaged")
    try:
        scheme, *rest = parameters
        axis = None if scheme == SCHEMES[0] else rest.pop()
        scale, zero_point = rest
        return _made(integers, kind, scale, zero_point, axis)
    except (AttributeError, TypeError, ValueError) as error:
        fail(f"a quantized tensor of the checkpoint is damaged: {error}")
