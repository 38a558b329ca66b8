"""Float layers on what integers stand for, with integers out."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau.ao.nn.quantized._weights import expect_quantized

__all__ = ["Computed", "output_scale"]


def output_scale(mod: Any) -> tuple[float, int]:
    """Scale and zero point that the observer behind a layer knows."""
    scale, zero_point = mod.activation_post_process.calculate_qparams()
    return float(scale), int(zero_point)


class Computed:
    """A float layer on what integers stand for; its result has the scale of this layer."""

    _FLOAT: Any
    scale: float
    zero_point: int

    def _get_name(self) -> str:
        return f"Quantized{self._FLOAT.__name__}"

    def _has_scale(self, scale: Any, zero_point: Any) -> None:
        self.scale, self.zero_point = float(scale), int(zero_point)

    def forward(self, input: Any) -> Any:
        """Integers out of integers."""
        x = expect_quantized(self._get_name(), input)
        return flambeau.quantize_per_tensor(self._FLOAT.forward(self, x.dequantize()).detach(),
                                            self.scale, self.zero_point, x.dtype)

    def extra_repr(self) -> str:
        """What the float layer says, and the scale."""
        words = self._FLOAT.extra_repr(self)
        return ", ".join(filter(None, (words, f"scale={self.scale}",
                                       f"zero_point={self.zero_point}")))
