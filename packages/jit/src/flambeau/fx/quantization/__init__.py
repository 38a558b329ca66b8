"""Networks of integers made from graphs: prepare, run on data, convert.

A network is traced, layers in a row become one, observers are put behind what is quantized
(`preparing`). Conversion has two steps: to a graph of floats between ``quantize`` and
``dequantize`` (`referring`), which says what is computed, and from it to operators and layers of
integers (`lowering`); what has no form in integers stays as it is.
"""

from __future__ import annotations

from flambeau.fx.quantization.converting import convert_fx, convert_to_reference_fx
from flambeau.fx.quantization.preparing import fuse_fx, prepare_fx, prepare_qat_fx

__all__ = ["convert_fx", "convert_to_reference_fx", "fuse_fx", "prepare_fx", "prepare_qat_fx"]
