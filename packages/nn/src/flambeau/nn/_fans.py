"""What initial values are computed from: the sizes of a weight."""

from __future__ import annotations

import math

from flambeau import Tensor


def expect_tensor(name: str, tensor: object) -> None:
    """Refuse what is no tensor.

    Args:
        name: The function of ``nn.init``, for the error.
        tensor: What it was given.

    Raises:
        TypeError: It is no tensor.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"nn.init.{name}(): argument 'tensor' must be a Tensor, not {type(tensor).__name__}"
        )


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs reach an output, and how many outputs an input reaches.

    The name is PyTorch's: many initializations outside it call this function.
    """
    if tensor.ndim < 2:
        raise ValueError(
            "the fan in and out are defined for two dimensions or more, not for shape "
            f"{tuple(tensor.shape)}"
        )
    area = math.prod(tensor.shape[2:])
    return tensor.shape[1] * area, tensor.shape[0] * area


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """The fan that a mode names; under PyTorch's name, which programs call."""
    fans = dict(zip(("fan_in", "fan_out"), _calculate_fan_in_and_fan_out(tensor), strict=True))
    if mode.lower() not in fans:
        raise ValueError(f'mode is "fan_in" or "fan_out", not {mode!r}')
    return fans[mode.lower()]
