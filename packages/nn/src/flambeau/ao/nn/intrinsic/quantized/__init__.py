"""Layers of integers that end with a ReLU."""
from typing import Any

from flambeau.ao.nn.intrinsic.quantized import dynamic
from flambeau.ao.nn.quantized.conv import Conv1d, Conv2d, Conv3d
from flambeau.ao.nn.quantized.linear import Linear
from flambeau.ao.nn.quantized.norms import BNReLU2d, BNReLU3d

__all__ = ["BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU",
           "dynamic"]


def _with_relu(base: Any) -> Any:
    name = base.__name__.replace("Conv", "ConvReLU").replace("Linear", "LinearReLU")
    return type(name, (base,), {
        "_relu": True, "__module__": __name__, "__qualname__": name,
        "__doc__": f"`{base.__name__}` of integers, and a ReLU."})


ConvReLU1d: Any = _with_relu(Conv1d)
ConvReLU2d: Any = _with_relu(Conv2d)
ConvReLU3d: Any = _with_relu(Conv3d)
LinearReLU: Any = _with_relu(Linear)
