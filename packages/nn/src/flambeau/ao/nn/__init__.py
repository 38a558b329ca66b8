"""Layers for quantization: fused, for training with rounding, and quantized."""
from flambeau.ao.nn import intrinsic, qat, quantized

__all__ = ["intrinsic", "qat", "quantized"]
