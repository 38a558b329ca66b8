"""Operators of the domain ``com.microsoft``, which onnxruntime adds and its tools write.

``fused``       products, activations and normalizations in one node
``attention``   attention with its projections, and with caches
``quantized``   bytes with a scale for each input, and weights of few bits
"""

from __future__ import annotations

from flambeau.onnx.importing.operators.contributed import attention, fused, quantized

__all__ = ["attention", "fused", "quantized"]
