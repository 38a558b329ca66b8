"""ONNX's operators, by what they do; importing this fills the tables."""

from __future__ import annotations

from flambeau.onnx.importing.operators import (
    attention,
    casting,
    contributed,
    control,
    convolution,
    host,
    indexing,
    losses,
    normalization,
    pointwise,
    pooling,
    products,
    quantized,
    random,
    recurrent,
    reductions,
    resizing,
    scattering,
    sequences,
    shapes,
    signals,
    vision,
)
from flambeau.onnx.importing.table import HOST, OPERATORS

__all__ = [
    "HOST", "OPERATORS", "attention", "casting", "contributed", "control", "convolution", "host",
    "indexing", "losses", "normalization", "pointwise", "pooling", "products", "quantized",
    "random", "recurrent", "reductions", "resizing", "scattering", "sequences", "shapes",
    "signals", "vision"]
