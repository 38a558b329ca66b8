"""Sample arguments of operators of integers that stand for numbers; see ``by_key.py``."""
from __future__ import annotations

import numpy as np

from flambeau.core.dtypes import dtypes

#: Channels of input and output, groups, kernel, stride, padding, dilation.
_CONVOLUTIONS: list[tuple] = [
    (3, 5, 1, (3, 2), 1, 0, 1), (4, 6, 2, (2, 2), (2, 1), (1, 0), (1, 2)),
    (5, 5, 5, (3, 3), 1, 1, 1), (2, 3, 1, (2, 1, 3), 1, (1, 0, 1), 1)]


def _bytes(m):
    return m.dtype in ("uint8", "int8")


def packed(weight, groups, joined):
    """A weight as ``quantized_conv`` wants it, element by element."""
    outputs, channels, *kernel = weight.shape
    taps = int(np.prod(kernel))
    rows = weight.reshape(outputs, channels, taps)
    if groups > 1 and channels == 1 and outputs == groups:
        to = np.zeros((-(-outputs // 64), -(-taps // 4), 64, 4), np.int8)
        for o, t in np.ndindex(outputs, taps):
            k = o % 64          # 16 channels of four vectors, four of each in turn
            to[o // 64, t // 4, k % 16 // 4 * 16 + k // 16 * 4 + k % 4, t % 4] = rows[o, 0, t]
        return to
    run = channels * (kernel[-1] if joined else 1)
    count = outputs // groups
    to = np.zeros((groups, -(-count // 32), channels * taps // run, -(-run // 4), 32, 4), np.int8)
    for o, c, t in np.ndindex(outputs, channels, taps):
        which, at = divmod(t * channels + c, run)
        to[o // count, o % count // 32, which, at // 4, o % count % 32, at % 4] = rows[o, c, t]
    return to


def _quantized_conv(m):
    low = -128 if m.dtype == "int8" else 0
    for ci, co, groups, kernel, *window in _CONVOLUTIONS if _bytes(m) else ():
        n = len(kernel)
        weight = m.rng.integers(-128, 128, (co, ci // groups, *kernel)).astype(np.int8)
        across = window[2] if isinstance(window[2], int) else window[2][-1]
        sums = weight.reshape(co, -1).sum(1, dtype=np.int32)
        layout = packed(weight, groups, groups == 1 and across == 1)
        scales, bias = np.linspace(0.5, 1, co), np.linspace(-9, 9, co)
        for batch, b, zero, relu in (((2,), bias, low, False), ((), None, low + 255, True)):
            x = m.rng.integers(low, low + 256, (*batch, ci, *(6, 5, 4)[-n:])).astype(m.dtype)
            yield (x, layout, sums, scales.astype(np.float32),
                   b if b is None else b.astype(np.float32), kernel, *window, groups, 0.25, zero,
                   20.0, low + 100, relu)


def _pair(m, *relu):
    zeros = (3, 0, 7)
    last: list[tuple] = [(r,) for r in relu] or [()]
    return [(m.array(*shape), m.array(*shape), (0.5, 0.25, 0.75), zeros, *rest)
            for shape in ((3, 5), (0, 4), ()) for rest in last] \
        if _bytes(m) else []


QUANTIZED = {
    "quantized_conv": _quantized_conv,
    "quantize_values": lambda m: [
        (m.array(*shape), 0.1, 5, dtypes[name]) for shape in ((3, 5), (0,), ())
        for name in ("uint8", "int8")] if m.dtype == "float32" else [],
    "dequantize_values": lambda m: [(m.array(*shape), 0.1, 5) for shape in ((3, 5), (0,), ())]
    if _bytes(m) else [],
    "quantized_add": lambda m: _pair(m, False, True),
    "quantized_mul": _pair,
}
