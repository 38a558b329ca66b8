"""Dividing gradients by the scale, and finding what is not finite on the way."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau
from flambeau import Tensor
from flambeau.core import _core, ops


def unscale(grads: Sequence[Tensor], factor: float) -> bool:
    """Multiply in place, in one pass over each gradient.

    Args:
        grads: The gradients.
        factor: One over the scale.

    Returns:
        Whether a gradient was infinite or nan.
    """
    found = [_unscale(grad.detach(), factor) for grad in grads]
    return any(map(bool, found))


def _unscale(grad: Tensor, factor: float) -> Tensor | bool:
    if _core.is_dispatched(grad):       # of a class that computes in its own way
        found = grad.isfinite().all()
        grad.mul_(factor)
        return not found.item()
    if grad.device.type == "cpu":
        found = flambeau.empty((), dtype=flambeau.bool)
        return ops.amp_unscale(grad, factor, out=(grad, found))[1]
    # Not every device has such a kernel: the greatest magnitude tells, before it is multiplied.
    greatest = grad.norm(math.inf) if grad.numel() else 0.0
    grad.mul_(factor)
    return not math.isfinite(float(greatest))
