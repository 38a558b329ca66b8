"""Layers that are trained for quantization whose inputs are rounded as they come."""
from __future__ import annotations

from typing import Any

import flambeau.ao.nn.qat.modules as static

__all__ = ["Linear"]


class Linear(static.Linear):
    """`flambeau.nn.Linear` with a rounded weight, for inputs that are rounded as they come.

    Raises:
        ValueError: The observer of inputs remembers earlier ones.
    """

    def _round_with(self, qconfig: Any) -> None:
        super()._round_with(qconfig)
        watched = qconfig.activation()
        inner = getattr(watched, "activation_post_process", watched)
        if getattr(inner, "averaging_constant", None) != 1:
            raise ValueError("Dynamic QAT requires a memoryless observer. This means a "
                             "MovingAverage observer with averaging constant equal to 1: write "
                             "qconfig=default_dynamic_qat_qconfig")
