"""How a conversion gives a parameter its new values."""

from __future__ import annotations

from typing import Any

from flambeau import utils

from ...parameter import Parameter


class Way:
    """What ``flambeau.__future__`` sets."""

    overwrites = False  # new parameters are made
    swaps = False  # parameters exchange what they hold with new ones


way = Way()


def change(param: Any, values: Any, grad: Any) -> Any:
    """Give a parameter, or a new one instead of it, values and a gradient; returns which."""
    if not way.overwrites and not way.swaps:
        param.data = values
        if grad is not None:
            param.grad = grad
        return param
    made = Parameter(values, requires_grad=param.requires_grad)
    made.grad = grad
    if not way.swaps:
        return made
    utils.swap_tensors(param, made)
    return param
