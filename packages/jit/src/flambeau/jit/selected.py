"""Types of results that have as many elements as values say, where the number is known."""

from __future__ import annotations

from typing import Any

from flambeau.jit.ir import Value
from flambeau.jit.opset import NMS, NUMBER, ROI_ALIGN, ROI_POOL

#: Operators with results that ``infer`` does not know.
SELECTING = ("masked_select", "nonzero", NMS, NUMBER, ROI_ALIGN, ROI_POOL)


def selected_types(key: str, args: tuple[Any, ...], count: int) -> list[Value]:
    """The results of one of these operators.

    Args:
        key: the operator.
        args: its arguments, tensors as values of known sizes.
        count: how many elements there are.
    """
    x = args[0]
    if key == "masked_select":
        return [Value((count,), x.dtype, x.device)]
    if key == "nonzero":
        return [Value((count, len(x.shape)), "int64", x.device)]
    if key in (ROI_ALIGN, ROI_POOL):
        shape = (args[1].shape[0], x.shape[1], *args[3:5])
        dtypes = (x.dtype, "int32") if key == ROI_POOL else (x.dtype,)
        return [Value(shape, dtype, x.device) for dtype in dtypes]
    return [Value((count,), "int64", x.device)]
