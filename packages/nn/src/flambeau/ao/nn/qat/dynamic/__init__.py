"""Layers that are trained for quantization whose inputs are rounded as they come."""
from flambeau.ao.nn.qat.modules import Linear

__all__ = ["Linear"]
