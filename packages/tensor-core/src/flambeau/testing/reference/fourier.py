"""Fourier transforms, with NumPy in double precision."""
from __future__ import annotations

import numpy as np

from flambeau.testing.reference.kernels import kernel


def _dims(dim):
    return tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)


def _transform(x, dims, forward):
    for d in dims:
        x = np.fft.fft(x, axis=d) if forward else np.fft.ifft(x, axis=d, norm="forward")
    return x


@kernel("fft_c2c")
def fft_c2c(x, dim, scale, forward):
    return _transform(x, _dims(dim), forward) * scale


@kernel("fft_r2c")
def fft_r2c(x, dim, scale, onesided, forward):
    dims = _dims(dim)
    terms = _transform(x.astype(np.float64), dims, forward) * scale
    if not onesided:
        return terms
    return np.take(terms, range(x.shape[dims[-1]] // 2 + 1), axis=dims[-1])


@kernel("fft_c2r")
def fft_c2r(x, dim, last_dim_size, scale, forward):
    dims = _dims(dim)
    x = _transform(x, dims[:-1], forward)
    if forward:
        return np.fft.hfft(x, n=last_dim_size, axis=dims[-1], norm="backward") * scale
    return np.fft.irfft(x, n=last_dim_size, axis=dims[-1], norm="forward") * scale
