"""Dividing gradients by the scale, and finding what is not finite on the way."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau
from flambeau import Tensor


def unscale(grads: Sequence[Tensor], factor: float) -> bool:
    """Multiply in place.

    Args:
        grads: The gradients.
        factor: One over the scale.

    Returns:
        Whether a gradient was infinite or nan.
    """
    greatest = [
        flambeau.linalg.vector_norm(grad.detach(), math.inf) for grad in grads if grad.numel()
    ]
    found = not all(math.isfinite(float(each)) for each in greatest)
    for grad in grads:
        grad.detach().mul_(factor)
    return found
