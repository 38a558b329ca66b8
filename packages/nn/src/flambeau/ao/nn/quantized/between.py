"""Where floats become integers and integers floats, and sums of integers."""
from __future__ import annotations

from typing import Any

import flambeau
import flambeau.ao.operators.sums as sums
from flambeau import Tensor
from flambeau.nn import Identity, Module

__all__ = ["DeQuantize", "FXFloatFunctional", "FloatFunctional", "QFunctional", "Quantize"]


class Quantize(Module):
    """Floats to integers with one scale.

    Args:
        scale: Of the result.
        zero_point: Of the result.
        dtype: ``qint8``, ``quint8`` or ``qint32``.

    Example:
        >>> import flambeau
        >>> from flambeau.ao.nn.quantized import Quantize
        >>> Quantize(0.5, 0, flambeau.qint8)(flambeau.ones(2)).int_repr()
        tensor([2, 2], dtype=flambeau.int8)
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(self, scale: Any, zero_point: Any, dtype: Any,
                 factory_kwargs: Any = None) -> None:
        super().__init__()
        self.register_buffer("scale", flambeau.tensor([float(scale)]))
        self.register_buffer("zero_point", flambeau.tensor([int(zero_point)]))
        self.dtype = dtype

    def forward(self, X: Tensor) -> Any:
        """Integers for floats."""
        return flambeau.quantize_per_tensor(X, float(self.scale), int(self.zero_point),
                                            self.dtype)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Quantize:
        """With the scale that the observer of a stub knows."""
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        return Quantize(scale, zero_point, mod.activation_post_process.dtype)

    def extra_repr(self) -> str:
        """Scale and zero point."""
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(Module):
    """Integers to the floats that they stand for."""

    def forward(self, Xq: Any) -> Tensor:
        """Floats for integers."""
        return flambeau.dequantize(Xq)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> DeQuantize:
        """Instead of a stub."""
        return DeQuantize()


class FloatFunctional(Module):
    """Sums and products as a module, so that what they give can be watched and quantized.

    Example:
        >>> import flambeau
        >>> from flambeau.ao.nn.quantized import FloatFunctional
        >>> FloatFunctional().add(flambeau.ones(2), flambeau.ones(2))
        tensor([2., 2.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process: Any = Identity()

    def forward(self, x: Any) -> Any:
        """Refused: a function of this module is to be called."""
        raise RuntimeError("FloatFunctional is not called: write f.add(x, y), f.mul(x, y), "
                           "f.cat([x, y]) ...")

    def _watched(self, x: Any) -> Any:
        return self.activation_post_process(x)

    def add(self, x: Any, y: Any) -> Any:
        """``x + y``."""
        return self._watched(flambeau.add(x, y))

    def add_scalar(self, x: Any, y: float) -> Any:
        """``x + y`` with a number."""
        return flambeau.add(x, y)

    def mul(self, x: Any, y: Any) -> Any:
        """``x * y``."""
        return self._watched(flambeau.mul(x, y))

    def mul_scalar(self, x: Any, y: float) -> Any:
        """``x * y`` with a number."""
        return flambeau.mul(x, y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        """Concatenation."""
        return self._watched(flambeau.cat(x, dim=dim))

    def add_relu(self, x: Any, y: Any) -> Any:
        """``relu(x + y)``."""
        return self._watched(flambeau.relu(flambeau.add(x, y)))

    def matmul(self, x: Any, y: Any) -> Any:
        """``x @ y``."""
        return self._watched(flambeau.matmul(x, y))


class FXFloatFunctional(FloatFunctional):
    """`FloatFunctional` whose results are not watched."""

    def _watched(self, x: Any) -> Any:
        return x


class QFunctional(Module):
    """Sums and products of integers, whose results have the scale of this module."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.zero_point = 1.0, 0
        self.activation_post_process: Any = Identity()

    def _get_name(self) -> str:
        return "QFunctional"

    def extra_repr(self) -> str:
        """Scale and zero point."""
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Write the scale."""
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = flambeau.tensor(self.scale)
        destination[prefix + "zero_point"] = flambeau.tensor(self.zero_point)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        """Read the scale."""
        self.scale = float(state_dict.pop(prefix + "scale", self.scale))
        self.zero_point = int(state_dict.pop(prefix + "zero_point", self.zero_point))
        super()._load_from_state_dict(state_dict, prefix, *args)

    def forward(self, x: Any) -> Any:
        """Refused: a function of this module is to be called."""
        raise RuntimeError("QFunctional is not called: write f.add(x, y), f.mul(x, y), "
                           "f.cat([x, y]) ...")

    def _scaled(self, operator: Any, *args: Any) -> Any:
        return self.activation_post_process(operator(*args, self.scale, self.zero_point))

    def add(self, x: Any, y: Any) -> Any:
        """``x + y``."""
        return self._scaled(sums.add, x, y)

    def add_scalar(self, x: Any, y: float) -> Any:
        """``x + y`` with a number: the zero point moves, or both move where it has no room."""
        return sums.add_scalar(x, y)

    def mul(self, x: Any, y: Any) -> Any:
        """``x * y``."""
        return self._scaled(sums.mul, x, y)

    def mul_scalar(self, x: Any, y: float) -> Any:
        """``x * y`` with a number: the scale changes, and for numbers below zero the integers."""
        return sums.mul_scalar(x, y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        """Concatenation."""
        return self._scaled(sums.cat, x, dim)

    def add_relu(self, x: Any, y: Any) -> Any:
        """``relu(x + y)``."""
        return self._scaled(sums.add_relu, x, y)

    def matmul(self, x: Any, y: Any) -> Any:
        """``x @ y``."""
        return self._scaled(sums.matmul, x, y)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> QFunctional:
        """With the scale that the observer of a `FloatFunctional` knows."""
        if not isinstance(mod, FloatFunctional):
            raise AssertionError("from_float(): QFunctional is made from FloatFunctional, not "
                                 f"{type(mod).__name__}")
        made = cls()
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        made.scale, made.zero_point = float(scale), int(zero_point)
        return made
