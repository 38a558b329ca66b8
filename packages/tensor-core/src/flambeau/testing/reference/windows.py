"""Convolution of blocks, columns of images, windows of about equal sizes, with NumPy."""
from __future__ import annotations

import math
from itertools import product

import numpy as np

from flambeau.testing.reference.kernels import kernel


def _each(value, n):
    """One number for every dimension, or one for each."""
    value = (value,) if isinstance(value, int) else tuple(value)
    return value * n if len(value) == 1 else value


def _count(size, kernel_size, stride, padding, dilation):
    return [(n + 2 * p - (k - 1) * d - 1) // s + 1 for n, k, s, p, d in zip(
        size, kernel_size, stride, padding, dilation, strict=True)]


class Taps:
    """Where the taps of a kernel lie in an image with its padding."""

    def __init__(self, size, kernel_size, stride, padding, dilation):
        n = len(size)
        self.size, self.kernel = tuple(size), _each(kernel_size, n)
        self.stride, self.padding = _each(stride, n), _each(padding, n)
        self.dilation = _each(dilation, n)
        self.count = _count(size, self.kernel, self.stride, self.padding, self.dilation)

    def room(self, lead, dtype):
        whole = [n + 2 * p for n, p in zip(self.size, self.padding, strict=True)]
        room = np.zeros((*lead, *whole), dtype)
        inside: tuple = tuple(slice(p, p + n)
                              for p, n in zip(self.padding, self.size, strict=True))
        return room, room[(Ellipsis, *inside)]

    def __iter__(self):
        for tap in product(*map(range, self.kernel)):
            yield (..., *(slice(t * d, t * d + (c - 1) * s + 1, s) for t, d, c, s in zip(
                tap, self.dilation, self.count, self.stride, strict=True)))

    def gather(self, x):
        """[..., *size] to [..., taps, *count]."""
        n = len(self.size)
        room, inside = self.room(x.shape[:-n], x.dtype)
        inside[...] = x
        return np.stack([room[where] for where in self], -n - 1)

    def scatter(self, columns):
        """The transpose: columns that met the same element add up."""
        n = len(self.size)
        room, inside = self.room(columns.shape[:-n - 1], columns.dtype)
        for i, where in enumerate(self):
            room[where] += columns[(..., i, *[slice(None)] * n)]
        return inside.copy()


def _grouped(x, groups):
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])


def _wide(x):
    """The double-precision dtype of an array's kind."""
    return np.result_type(x.dtype, np.float64)


@kernel("conv3d")
def conv3d(x, weight, bias, stride, padding, dilation, groups):
    taps = Taps(x.shape[-3:], weight.shape[2:], stride, padding, dilation)
    batch = x if x.ndim == 5 else x[None]
    columns = _grouped(taps.gather(batch.astype(_wide(batch))), groups)
    filters = weight.reshape(groups, -1, weight.shape[1], columns.shape[3])
    result = np.einsum("ngctzyx,goct->ngozyx", columns, filters)
    result = result.reshape(batch.shape[0], weight.shape[0], *taps.count)
    result = result if bias is None else result + bias[:, None, None, None]
    return result if x.ndim == 5 else result[0]


@kernel("conv3d_input_grad")
def conv3d_input_grad(grad, weight, size, stride, padding, dilation, groups):
    taps = Taps(size[-3:], weight.shape[2:], stride, padding, dilation)
    batch = _grouped(grad if grad.ndim == 5 else grad[None], groups).astype(_wide(grad))
    filters = weight.reshape(groups, -1, weight.shape[1], int(np.prod(taps.kernel)))
    columns = np.einsum("ngozyx,goct->ngctzyx", batch, filters)
    return taps.scatter(columns).reshape(size)


@kernel("conv3d_weight_grad")
def conv3d_weight_grad(grad, x, size, stride, padding, dilation, groups):
    taps = Taps(x.shape[-3:], size[2:], stride, padding, dilation)
    batch = x if x.ndim == 5 else x[None]
    columns = _grouped(taps.gather(batch.astype(_wide(batch))), groups)
    slopes = _grouped(grad if grad.ndim == 5 else grad[None], groups)
    return np.einsum("ngctzyx,ngozyx->goct", columns, slopes).reshape(size)


@kernel("im2col")
def im2col(x, kernel_size, dilation, padding, stride):
    columns = Taps(x.shape[-2:], kernel_size, stride, padding, dilation).gather(x)
    return columns.reshape(*x.shape[:-3], -1, columns.shape[-1] * columns.shape[-2])


@kernel("col2im")
def col2im(columns, size, kernel_size, dilation, padding, stride):
    taps = Taps(_each(size, 2), kernel_size, stride, padding, dilation)
    area = taps.kernel[0] * taps.kernel[1]
    shape = (*columns.shape[:-2], columns.shape[-2] // area, area, *taps.count)
    return taps.scatter(columns.reshape(shape))


def _spans(size, count):
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _windows(x, dim, count):
    """Each window along a dimension, which comes first."""
    x = np.moveaxis(x, dim, 0)
    return [x[begin:end] for begin, end in _spans(x.shape[0], count)]


@kernel("adaptive_mean")
def adaptive_mean(x, dim, count):
    means = [w.mean(0) for w in _windows(x.astype(np.float64), dim, count)]
    return np.moveaxis(np.stack(means), 0, dim)


@kernel("adaptive_mean_grad")
def adaptive_mean_grad(grad, dim, length):
    grad = np.moveaxis(grad.astype(np.float64), dim, 0)
    result = np.zeros((length, *grad.shape[1:]))
    for g, (begin, end) in zip(grad, _spans(length, grad.shape[0]), strict=True):
        result[begin:end] += g / (end - begin)
    return np.moveaxis(result, 0, dim)


@kernel("adaptive_max")
def adaptive_max(x, dim, count):
    windows = _windows(x, dim, count)
    starts = [begin for begin, _ in _spans(x.shape[dim], count)]
    values = np.stack([w.max(0) for w in windows])
    indices = np.stack([w.argmax(0) + s for w, s in zip(windows, starts, strict=True)])
    return np.moveaxis(values, 0, dim), np.moveaxis(indices, 0, dim)


def _random_starts(size, kernel, count, sample):
    """Where windows begin: about evenly, shifted by the sample, the last at the end."""
    step = sample.dtype.type(size - kernel) / sample.dtype.type(max(count - 1, 1))
    moved = (np.arange(count - 1, dtype=sample.dtype) + sample) * step
    return [*(moved.astype(np.int64) - int(sample * step)), size - kernel]


@kernel("fractional_indices")
def fractional_indices(x, samples, kernel_size, output_size):
    n = len(kernel_size)
    sizes = x.shape[-n:]
    indices = np.empty((*x.shape[:2], *output_size), np.int64)
    numbers = np.arange(math.prod(sizes)).reshape(sizes)
    for plane in np.ndindex(x.shape[:2]):
        drawn = samples[plane][::-1] if n == 2 else samples[plane]
        starts = [_random_starts(*each) for each in
                  zip(sizes, kernel_size, output_size, drawn, strict=True)]
        for window in np.ndindex(*output_size):
            at = tuple(slice(s[i], s[i] + k) for s, i, k in
                       zip(starts, window, kernel_size, strict=True))
            indices[plane][window] = numbers[at].flat[x[plane][at].argmax()]
    return indices
