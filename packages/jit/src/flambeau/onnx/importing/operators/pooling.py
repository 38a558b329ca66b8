"""Pooling."""

from __future__ import annotations

import math
from typing import Any

import flambeau as fl
from flambeau.nn import functional as F
from flambeau.onnx.importing.operators.windows import Windows, padded, unfolded, windows_of
from flambeau.onnx.importing.table import Call, computes

_MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
_AVERAGE = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def _windows(call: Call, x: fl.Tensor) -> Windows:
    return windows_of(call, x.shape[2:], call.get("kernel_shape"), bool(call.get("ceil_mode")))


def _is_plain(call: Call, windows: Windows) -> bool:
    """Whether PyTorch's pooling has the same windows."""
    return (windows.is_even and not call.get("ceil_mode") and len(windows.kernel) in _MAX
            and all(2 * p <= k for p, k in zip(windows.before, windows.kernel, strict=True)))


def _least(x: fl.Tensor) -> Any:
    return -math.inf if x.is_floating_point() else fl.iinfo(x.dtype).min


def _counted(y: fl.Tensor, windows: Windows) -> fl.Tensor:
    """Without windows that are not counted."""
    for k, n in enumerate(windows.counts):
        y = y if y.shape[k + 2] == n else y.narrow(k + 2, 0, n)
    return y


def _sums(x: fl.Tensor, windows: Windows) -> fl.Tensor:
    """The sum of each window of a padded image."""
    d = len(windows.kernel)
    if d not in _AVERAGE or any(w != 1 for w in windows.dilations):
        return unfolded(x, windows).sum(list(range(-d, 0)))
    y = _AVERAGE[d](x, windows.kernel, windows.strides) * math.prod(windows.kernel)
    return _counted(y, windows)


@computes("MaxPool")
def max_pool(call: Call, x: fl.Tensor) -> Any:
    """The greatest element of each window, and where in the whole tensor it was."""
    windows = _windows(call, x)
    d = len(windows.kernel)
    if not call.wants(1) and d in _MAX and x.is_floating_point():
        before: Any = windows.before
        if not _is_plain(call, windows):
            x, before = padded(x, windows, -math.inf), 0
        found = _MAX[d](x, windows.kernel, windows.strides, before, windows.dilations)
        return _counted(found, windows)
    parts = unfolded(padded(x, windows, _least(x)), windows).flatten(-d)
    if not call.wants(1):
        return parts.amax(-1)
    shape = list(x.shape)
    if call.get("storage_order"):
        steps = [math.prod(shape[2:2 + k]) for k in range(d)]
    else:
        steps = [math.prod(shape[3 + k:]) for k in range(d)]
    planes = math.prod(shape[2:])
    number = fl.arange(shape[0] * shape[1]).reshape(shape[0], shape[1], *[1] * d) * planes
    for k, n in enumerate(shape[2:]):
        number = number + fl.arange(n).reshape(-1, *[1] * (d - 1 - k)) * steps[k]
    numbers = unfolded(padded(number, windows, 0), windows).flatten(-d)
    values, at = parts.max(-1)
    return values, numbers.to(at.device).gather(-1, at.unsqueeze(-1)).squeeze(-1)


@computes("AveragePool")
def average_pool(call: Call, x: fl.Tensor) -> fl.Tensor:
    """The mean of each window."""
    windows = _windows(call, x)
    d = len(windows.kernel)
    whole = bool(call.get("count_include_pad"))
    if _is_plain(call, windows) and all(w == 1 for w in windows.dilations):
        return _AVERAGE[d](x, windows.kernel, windows.strides, windows.before,
                           count_include_pad=whole)
    sums = _sums(padded(x, windows, 0), windows)
    ones = fl.ones(1, 1, *x.shape[2:], dtype=x.dtype, device=x.device)
    if whole:
        flat = [n for k in reversed(range(d)) for n in (windows.before[k], windows.after[k])]
        ones = F.pad(ones, flat, value=1.0)
        bare = Windows(windows.kernel, windows.strides, windows.dilations, [0] * d, [0] * d,
                       windows.counts)
        return sums / _sums(padded(ones, bare, 0), bare)
    return sums / _sums(padded(ones, windows, 0), windows)


@computes("LpPool")
def lp_pool(call: Call, x: fl.Tensor) -> fl.Tensor:
    """The norm of each window."""
    windows = _windows(call, x)
    p = call.get("p", 2)
    parts = unfolded(padded(fl.abs(x) ** p, windows, 0), windows)
    return parts.sum(list(range(-len(windows.kernel), 0))) ** (1 / p)


@computes("MaxUnpool", host=(2,))
def max_unpool(call: Call, x: fl.Tensor, index: fl.Tensor, shape: list[int] | None = None
               ) -> fl.Tensor:
    """Elements put back where they were, among zeros."""
    kernel = call.get("kernel_shape")
    d = len(kernel)
    strides, pads = call.get("strides") or [1] * d, call.get("pads") or [0] * 2 * d
    own = [*x.shape[:2], *((n - 1) * s - pads[k] - pads[k + d] + kernel[k] for k, (n, s)
                           in enumerate(zip(x.shape[2:], strides, strict=True)))]
    flat = fl.zeros(math.prod(own), dtype=x.dtype, device=x.device)
    found = flat.scatter(0, index.reshape(-1).to(fl.int64), x.reshape(-1)).reshape(own)
    if shape is None:
        return found
    return F.pad(found, [n for a, b in zip(shape[::-1], own[::-1], strict=True)
                         for n in (0, a - b)])
