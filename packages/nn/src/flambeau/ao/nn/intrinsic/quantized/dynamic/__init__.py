"""Layers with weights of integers, for floats, that end with a ReLU."""
from flambeau.ao.nn.quantized.dynamic.linear import LinearReLU

__all__ = ["LinearReLU"]
