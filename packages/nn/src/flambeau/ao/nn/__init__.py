"""Layers for quantization: fused, for training with rounding, and quantized."""
from flambeau.ao.nn import intrinsic, qat, quantizable, quantized

__all__ = ["intrinsic", "qat", "quantizable", "quantized"]
