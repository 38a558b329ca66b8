"""Settings of graph mode; the mode itself is in `flambeau.ao.quantization.quantize_fx`."""
