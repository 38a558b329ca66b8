"""Observers that find no range: they know a scale, keep numbers, or say which dtype is wanted."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from .observer import ObserverBase

__all__ = ["FixedQParamsObserver", "NoopObserver", "PlaceholderObserver", "RecordingObserver",
           "ReuseInputObserver"]


class FixedQParamsObserver(ObserverBase):
    """Knows a scale and a zero point without watching.

    Args:
        scale: The scale.
        zero_point: The zero point.
        dtype: The dtype of the integers.
        qscheme: How integers stand for numbers.
        quant_min: The least integer.
        quant_max: The greatest integer.
        is_dynamic: Whether scales are found anew for every input.
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(self, scale: float, zero_point: int, dtype: Any = flambeau.quint8,
                 qscheme: Any = flambeau.per_tensor_affine, quant_min: int = 0,
                 quant_max: int = 255, is_dynamic: bool = False, **kwargs: Any) -> None:
        super().__init__(dtype, is_dynamic)
        self.quant_min, self.quant_max, self.qscheme = quant_min, quant_max, qscheme
        self.register_buffer("scale", flambeau.tensor([scale], dtype=flambeau.float32))
        self.register_buffer("zero_point", flambeau.tensor([zero_point], dtype=flambeau.int32))

    def forward(self, x: Tensor) -> Tensor:
        """Let numbers pass."""
        return x

    def calculate_qparams(self) -> Any:     # type: ignore[override]
        """The scale and the zero point."""
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Watches nothing: says which dtype is wanted, of weights in float16 and dynamic inputs.

    Args:
        dtype: That dtype.
        others: are kept as attributes.
    """

    def __init__(self, dtype: Any = flambeau.float32, custom_op_name: str = "",
                 compute_dtype: Any = None, quant_min: int | None = None,
                 quant_max: int | None = None, qscheme: Any = None, eps: float | None = None,
                 is_dynamic: bool = False) -> None:
        super().__init__(dtype, is_dynamic)
        self.qscheme = flambeau.per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.eps = quant_min, quant_max, eps
        self.custom_op = custom_op_name

    def forward(self, x: Tensor) -> Tensor:
        """Let numbers pass."""
        return x

    def calculate_qparams(self) -> Any:     # type: ignore[override]
        """Refused: nothing was watched."""
        raise RuntimeError("calculate_qparams(): PlaceholderObserver watches nothing: write "
                           "MinMaxObserver in the QConfig")

    def extra_repr(self) -> str:
        """The dtype that is wanted."""
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"


class NoopObserver(ObserverBase):
    """Watches nothing.

    Args:
        dtype: A dtype that is wanted.
    """

    def __init__(self, dtype: Any = flambeau.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Let numbers pass."""
        return x

    def calculate_qparams(self) -> Any:     # type: ignore[override]
        """Refused: nothing was watched."""
        raise RuntimeError("calculate_qparams(): NoopObserver watches nothing: write "
                           "MinMaxObserver in the QConfig")


class ReuseInputObserver(NoopObserver):
    """Says that an output has the scale of its input."""

    def __init__(self) -> None:
        super().__init__(flambeau.quint8)


class RecordingObserver(ObserverBase):
    """Keeps a copy of every input in ``tensor_val``.

    Args:
        dtype: A dtype that is wanted.
    """

    def __init__(self, dtype: Any = flambeau.quint8) -> None:
        super().__init__(dtype)
        self.tensor_val: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        """Keep a copy of the numbers, which pass unchanged."""
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self) -> Any:     # type: ignore[override]
        """Refused: this observer keeps numbers."""
        raise RuntimeError("calculate_qparams(): RecordingObserver keeps numbers: write "
                           "MinMaxObserver in the QConfig")

    def get_tensor_value(self) -> list[Tensor]:
        """The copies."""
        return self.tensor_val
