"""Convolution and pooling, with NumPy: windows are gathered into an array and reduced back."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flambeau.testing.reference.kernels import kernel


def _pair(value, default=None):
    """One number for both directions, or two; an empty list stands for the default."""
    value = default if value is None or value == () else value
    value = (value,) if isinstance(value, int) else tuple(value)
    return value * 2 if len(value) == 1 else value


@dataclass(frozen=True)
class Windows:
    """Windows of a plane ``size``: ``count`` of them, each of ``kernel`` taps."""

    size: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    count: tuple[int, int]

    def padded(self) -> tuple[int, ...]:
        """Size of the plane with room for every tap."""
        reach = [(c - 1) * s + (k - 1) * d + 1 for c, s, k, d in zip(
            self.count, self.stride, self.kernel, self.dilation, strict=True)]
        return tuple(max(n + p, r) for n, p, r in zip(
            (self.size[0] + self.padding[0], self.size[1] + self.padding[1]), self.padding, reach,
            strict=True))

    def taps(self):
        """Each tap of the kernel with the slices of the padded plane it meets."""
        for y in range(self.kernel[0]):
            for x in range(self.kernel[1]):
                yield y, x, tuple(
                    slice(t * d, t * d + (c - 1) * s + 1, s) for t, d, c, s in zip(
                        (y, x), self.dilation, self.count, self.stride, strict=True))

    def inside(self):
        """Where the plane itself lies in the padded one."""
        return tuple(slice(p, p + n) for p, n in zip(self.padding, self.size, strict=True))

    def unfold(self, x: np.ndarray, fill=0) -> np.ndarray:
        """``[..., h, w]`` to ``[..., taps, count, count]``."""
        room = np.full((*x.shape[:-2], *self.padded()), fill, x.dtype)
        room[(..., *self.inside())] = x
        taps = [room[(..., *where)] for _, _, where in self.taps()]
        return np.stack(taps, -3)

    def fold(self, taps: np.ndarray) -> np.ndarray:
        """The transpose of ``unfold``: values that met the same element add up."""
        room = np.zeros((*taps.shape[:-3], *self.padded()), taps.dtype)
        for i, (_, _, where) in enumerate(self.taps()):
            room[(..., *where)] += taps[..., i, :, :]
        return room[(..., *self.inside())]


def _floor_count(size, kernel, stride, padding, dilation):
    return tuple((n + 2 * p - (k - 1) * d - 1) // s + 1 for n, k, s, p, d in zip(
        size, kernel, stride, padding, dilation, strict=True))


def _conv(size, kernel, stride, padding, dilation):
    geometry = size, kernel, _pair(stride, 1), _pair(padding, 0), _pair(dilation, 1)
    return Windows(*geometry, _floor_count(*geometry))


def _grouped(x, groups):
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])


def _wide(x):
    """Products are added up in double precision."""
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


@kernel("conv2d")
def conv2d_reference(x, weight, bias, stride, padding, dilation, groups):
    w = _conv(x.shape[-2:], weight.shape[-2:], stride, padding, dilation)
    batch = x if x.ndim == 4 else x[None]
    taps = _grouped(w.unfold(_wide(batch)), groups)
    filters = weight.reshape(groups, -1, weight.shape[1], taps.shape[3])
    result = np.einsum("ngctyx,goct->ngoyx", taps, filters)
    result = result.reshape(batch.shape[0], weight.shape[0], *w.count)
    result = result if bias is None else result + bias[:, None, None]
    return result if x.ndim == 4 else result[0]


@kernel("conv2d_input_grad")
def conv2d_input_grad(grad, weight, size, stride, padding, dilation, groups):
    w = _conv(tuple(size[-2:]), weight.shape[-2:], stride, padding, dilation)
    batch = _wide(_grouped(grad if grad.ndim == 4 else grad[None], groups))
    filters = weight.reshape(groups, -1, weight.shape[1], w.kernel[0] * w.kernel[1])
    taps = np.einsum("ngoyx,goct->ngctyx", batch, filters)
    return w.fold(taps).reshape(size)


@kernel("conv2d_weight_grad")
def conv2d_weight_grad(grad, x, size, stride, padding, dilation, groups):
    w = _conv(x.shape[-2:], tuple(size[-2:]), stride, padding, dilation)
    batch = x if x.ndim == 4 else x[None]
    taps = _grouped(w.unfold(_wide(batch)), groups)
    slopes = _grouped(grad if grad.ndim == 4 else grad[None], groups)
    return np.einsum("ngctyx,ngoyx->goct", taps, slopes).reshape(size)


def _pool(size, kernel, stride, padding, dilation, ceil_mode):
    kernel = _pair(kernel)
    stride, padding, dilation = _pair(stride, kernel), _pair(padding, 0), _pair(dilation, 1)
    count = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        span = n + 2 * p - (k - 1) * d - 1 + (s - 1 if ceil_mode else 0)
        c = span // s + 1
        count.append(c - 1 if ceil_mode and (c - 1) * s >= n + p else c)
    return Windows(tuple(size), kernel, stride, padding, dilation, tuple(count))


@kernel("max_pool2d_with_indices")
def max_pool2d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode):
    w = _pool(x.shape[-2:], kernel_size, stride, padding, dilation, ceil_mode)
    low = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    plane = np.arange(w.size[0] * w.size[1]).reshape(w.size)
    positions = w.unfold(plane, -1)
    taps = w.unfold(x, low)
    taps = np.where(positions >= 0, taps, low)
    valid_low = (taps == low) & (positions >= 0)
    order = np.where(positions >= 0, taps, low)
    best = np.argmax(order, -3)[..., None, :, :]
    first = np.argmax(np.broadcast_to(valid_low, taps.shape), -3)[..., None, :, :]
    values = np.take_along_axis(taps, best, -3)
    best = np.where(values == low, first, best)
    where = np.take_along_axis(np.broadcast_to(positions, taps.shape), best, -3)
    return values[..., 0, :, :], where[..., 0, :, :]


@kernel("max_pool2d_compact_indices")
def max_pool2d_compact_indices(x, *args):
    values, positions = max_pool2d_with_indices(x, *args)
    plane = x.shape[-2] * x.shape[-1]
    return values, positions.astype("u1" if plane <= 2**8 else "u2" if plane <= 2**16 else "i8")


@kernel("max_pool2d_values")
def max_pool2d_values(*args):
    return max_pool2d_with_indices(*args)[0]


@kernel("max_pool2d_grad")
def max_pool2d_grad(grad, indices, size):
    planes = int(np.prod(size[:-2]))
    result = np.zeros((planes, size[-2] * size[-1]), np.float64)
    rows = np.arange(planes)[:, None]
    np.add.at(result, (rows, indices.reshape(planes, -1)), grad.reshape(planes, -1))
    return result.reshape(size)


def _divisors(w, include_pad, override):
    """How many elements each window counts; padding counts, what lies beyond it never."""
    if override is not None:
        return override
    if not include_pad:
        return w.unfold(np.ones(w.size)).sum(-3)
    whole = tuple(n + 2 * p for n, p in zip(w.size, w.padding, strict=True))
    padded = Windows(whole, w.kernel, w.stride, (0, 0), w.dilation, w.count)
    return padded.unfold(np.ones(whole)).sum(-3)


@kernel("avg_pool2d")
def avg_pool2d(x, kernel_size, stride, padding, ceil_mode, include_pad, override):
    w = _pool(x.shape[-2:], kernel_size, stride, padding, 1, ceil_mode)
    return w.unfold(x.astype(np.float64)).sum(-3) / _divisors(w, include_pad, override)


@kernel("avg_pool2d_grad")
def avg_pool2d_grad(grad, size, kernel_size, stride, padding, ceil_mode, include_pad, override):
    w = _pool(tuple(size[-2:]), kernel_size, stride, padding, 1, ceil_mode)
    share = (grad / _divisors(w, include_pad, override))[..., None, :, :]
    taps = w.kernel[0] * w.kernel[1]
    return w.fold(np.repeat(share, taps, -3).astype(np.float64))
