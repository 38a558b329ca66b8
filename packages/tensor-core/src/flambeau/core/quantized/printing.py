"""The text of quantized tensors: the numbers they stand for, then how they are quantized."""
from __future__ import annotations

from typing import Any

from flambeau.core.printing import _values_text, with_suffixes


def text(x: Any) -> str:
    """``repr(x)`` of a quantized tensor, in PyTorch's form."""
    head = "tensor("
    body = _values_text(x.dequantize().cpu(), len(head)) if x.numel() else "[]"
    quantizer = x._quantizer
    tail = [] if x.device.type == "cpu" else [f"device='{x.device}'"]
    tail += [f"size={tuple(x.shape)}", f"dtype={x.dtype}",
             f"quantization_scheme={quantizer.scheme}", f"scale={quantizer.scale}",
             f"zero_point={quantizer.zero_point}"]
    if quantizer.axis is not None:
        tail.append(f"axis={quantizer.axis}")
    return with_suffixes(head + body, tail, len(head))
