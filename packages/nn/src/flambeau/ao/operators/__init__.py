"""The operators of ``flambeau.ops.quantized`` and ``flambeau.ops.quantized_decomposed``."""
