"""`torch.nn._reduction`: the numbers of reductions of losses, and their older arguments."""
from __future__ import annotations

import warnings

_NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a reduction.

    Args:
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: It is something else.
    """
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction: write 'none', 'mean' or "
                         "'sum'")
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' "
                      "instead.", stacklevel=2)
    return _NUMBERS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None,
                      emit_warning: bool = True) -> str:
    """The reduction that two older arguments say; None stands for True."""
    is_mean, reduces = (value is None or value for value in (size_average, reduce))
    found = "none" if not reduces else "mean" if is_mean else "sum"
    if emit_warning:
        warnings.warn("size_average and reduce args will be deprecated, please use "
                      f"reduction='{found}' instead.", stacklevel=2)
    return found


def legacy_get_enum(size_average: bool | None, reduce: bool | None,
                    emit_warning: bool = True) -> int:
    """The number of the reduction that two older arguments say."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
