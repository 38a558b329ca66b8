"""Fourier transforms and windows."""

from __future__ import annotations

import math
from typing import Any

import flambeau as fl
from flambeau.onnx.importing.reading import dtype_of
from flambeau.onnx.importing.table import Call, computes


def _complex(x: fl.Tensor) -> fl.Tensor:
    """Pairs of real and imaginary part, or real parts alone, as complex numbers."""
    if x.shape[-1] == 2:
        return fl.complex(x[..., 0], x[..., 1])
    return fl.complex(x[..., 0], fl.zeros_like(x[..., 0]))


@computes("DFT", host=(1, 2))
def dft(call: Call, x: fl.Tensor, length: Any = None, axis: Any = None) -> fl.Tensor:
    """The discrete Fourier transform of a dimension, computed in float64."""
    where = call.get("axis", 1) if call.opset < 20 else -2 if axis is None else axis
    where = int(where[0] if isinstance(where, list) else where)
    where = where + 1 if where < 0 else where - x.ndim + 1  # without the last: pairs
    n = None if length is None else int(length[0] if isinstance(length, list) else length)
    z, onesided = _complex(x.double()), call.get("onesided", 0)
    if call.get("inverse", 0):
        if onesided:
            return fl.fft.irfft(z, n, where).unsqueeze(-1).to(x.dtype)
        return fl.view_as_real(fl.fft.ifft(z, n, where)).to(x.dtype)
    found = fl.fft.fft(z, n, where)
    if onesided:
        found = found.narrow(where, 0, found.shape[where] // 2 + 1)
    return fl.view_as_real(found).to(x.dtype)


@computes("STFT", host=(1, 3))
def stft(call: Call, x: fl.Tensor, step: Any, window: fl.Tensor | None = None,
         length: Any = None) -> fl.Tensor:
    """Transforms of frames of a signal."""
    hop = int(step[0] if isinstance(step, list) else step)
    if length is None:
        if window is None:
            raise call.refuse("neither window nor frame_length is given")
        n = window.shape[0]
    else:
        n = int(length[0] if isinstance(length, list) else length)
    real = x.shape[-1] == 1 if x.ndim == 3 else True
    z = x.squeeze(-1) if x.ndim == 3 and real else x if real else _complex(x)
    frames = z.unfold(-1, n, hop)
    if window is not None:
        frames = frames * window
    found = fl.fft.fft(frames, dim=-1)
    if call.get("onesided", 1) and real:
        found = found[..., :n // 2 + 1]
    return fl.view_as_real(found)


@computes("HannWindow", "HammingWindow", "BlackmanWindow", host=(0,))
def window(call: Call, size: Any) -> fl.Tensor:
    """A sum of cosines."""
    n = int(size[0] if isinstance(size, list) else size)
    a = {"HannWindow": (0.5, 0.5, 0.0), "HammingWindow": (25 / 46, 21 / 46, 0.0),
         "BlackmanWindow": (0.42, 0.5, 0.08)}[call.op]
    count = n if call.get("periodic", 1) else n - 1
    t = fl.arange(n, dtype=fl.float64) * (2 * math.pi / max(count, 1))
    found = a[0] - a[1] * fl.cos(t) + a[2] * fl.cos(2 * t)
    return found.to(dtype_of(call.get("output_datatype", 1)))


@computes("MelWeightMatrix", host=(0, 1, 2, 3, 4))
def mel_weights(call: Call, bands: Any, length: Any, rate: Any, low: Any, high: Any
                ) -> fl.Tensor:
    """Triangles over the bins of a spectrum, at equal distances on the mel scale."""
    bins, n = int(bands), int(length) // 2 + 1
    mel = [2595 * math.log10(1 + float(each) / 700) for each in (low, high)]
    step = (mel[1] - mel[0]) / (bins + 2)
    edges = [700 * (10 ** ((mel[0] + k * step) / 2595) - 1) for k in range(bins + 2)]
    places = [int((int(length) + 1) * each // float(rate)) for each in edges]
    found = [[0.0] * bins for _ in range(n)]
    for k in range(bins):
        first, middle, last = places[k:k + 3]
        if middle == first and 0 <= middle < n:
            found[middle][k] = 1.0
        for j in range(first, middle + (middle > first)):
            if 0 <= j < n:
                found[j][k] = (j - first) / (middle - first)
        for j in range(middle, last):
            if 0 <= j < n and last > middle:
                found[j][k] = (last - j) / (last - middle)
    return fl.tensor(found).to(dtype_of(call.get("output_datatype", 1)))
