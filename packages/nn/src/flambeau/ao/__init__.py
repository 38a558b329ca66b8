"""Architecture optimization: integers of eight bits, and weights that are zero."""
from flambeau.ao import nn, pruning, quantization

__all__ = ["nn", "pruning", "quantization"]
