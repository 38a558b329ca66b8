"""Sequences of layers that are computed as one once they are quantized."""
from __future__ import annotations

from typing import Any

from flambeau import nn as layers
from flambeau.nn import Sequential

__all__ = ["BNReLU2d", "BNReLU3d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d",
           "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d",
           "LinearBn1d", "LinearReLU"]


class _FusedModule(Sequential):
    """Layers in a row, which quantization replaces by one."""


def _fused(name: str, *kinds: type) -> Any:
    words = " and ".join(kind.__name__ for kind in kinds)

    def __init__(self: Any, *modules: Any) -> None:
        for module, kind in zip(modules, kinds, strict=True):
            if not isinstance(module, kind):
                raise AssertionError(f"{name}: expected {words}, got "
                                     f"{' and '.join(type(m).__name__ for m in modules)}")
        _FusedModule.__init__(self, *modules)

    return type(name, (_FusedModule,), {
        "__init__": __init__, "__module__": __name__, "__qualname__": name,
        "__doc__": f"{words} in a row, which quantization makes one layer of."})


ConvReLU1d: Any = _fused("ConvReLU1d", layers.Conv1d, layers.ReLU)
ConvReLU2d: Any = _fused("ConvReLU2d", layers.Conv2d, layers.ReLU)
ConvReLU3d: Any = _fused("ConvReLU3d", layers.Conv3d, layers.ReLU)
LinearReLU: Any = _fused("LinearReLU", layers.Linear, layers.ReLU)
ConvBn1d: Any = _fused("ConvBn1d", layers.Conv1d, layers.BatchNorm1d)
ConvBn2d: Any = _fused("ConvBn2d", layers.Conv2d, layers.BatchNorm2d)
ConvBn3d: Any = _fused("ConvBn3d", layers.Conv3d, layers.BatchNorm3d)
ConvBnReLU1d: Any = _fused("ConvBnReLU1d", layers.Conv1d, layers.BatchNorm1d, layers.ReLU)
ConvBnReLU2d: Any = _fused("ConvBnReLU2d", layers.Conv2d, layers.BatchNorm2d, layers.ReLU)
ConvBnReLU3d: Any = _fused("ConvBnReLU3d", layers.Conv3d, layers.BatchNorm3d, layers.ReLU)
BNReLU2d: Any = _fused("BNReLU2d", layers.BatchNorm2d, layers.ReLU)
BNReLU3d: Any = _fused("BNReLU3d", layers.BatchNorm3d, layers.ReLU)
LinearBn1d: Any = _fused("LinearBn1d", layers.Linear, layers.BatchNorm1d)


def parts(module: Any) -> tuple[Any, Any, bool]:
    """The layer with the weight, the batch norm or None, and whether a ReLU follows."""
    found = list(module) if isinstance(module, _FusedModule) else [module]
    norm = next((m for m in found if isinstance(m, layers.modules.batchnorm._BatchNorm)), None)
    return found[0], norm, isinstance(found[-1], layers.ReLU)
