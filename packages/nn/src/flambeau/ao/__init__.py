"""Architecture optimization: networks that compute with integers of eight bits."""
from flambeau.ao import nn, quantization

__all__ = ["nn", "quantization"]
