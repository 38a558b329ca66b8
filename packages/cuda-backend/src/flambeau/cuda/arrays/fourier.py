"""Fourier transforms as array calls: cuFFT through CuPy.

Transforms come unscaled and are multiplied with the definition's factor. Of real transforms the
last dimension named is the one that is halved.
"""
from __future__ import annotations

from flambeau.cuda.arrays.compositions import kernel_of


def _named(dim) -> tuple[int, ...]:
    return tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)


def _complex(xp, x, dims, forward: bool):
    """Unscaled both ways."""
    if not x.size or not dims:
        return x
    if forward:
        return xp.fft.fftn(x, axes=dims)
    return xp.fft.ifftn(x, axes=dims, norm="forward")


@kernel_of("fft_c2c")
def fft_c2c(xp, x, dim, scale, forward):
    found = _complex(xp, x, _named(dim), forward)
    return found * x.real.dtype.type(scale)


@kernel_of("fft_r2c")
def fft_r2c(xp, x, dim, scale, onesided, forward):
    dims = _named(dim)
    if not onesided:
        whole = x.astype("complex64" if x.dtype == "float32" else "complex128")
        return _complex(xp, whole, dims, forward) * x.dtype.type(scale)
    if not x.size:
        shape = list(x.shape)
        shape[dims[-1]] = shape[dims[-1]] // 2 + 1
        return xp.zeros(shape, x.dtype)
    found = xp.fft.rfftn(x, axes=dims)
    return (found if forward else xp.conj(found)) * x.dtype.type(scale)


@kernel_of("fft_c2r")
def fft_c2r(xp, x, dim, last_dim_size, scale, forward):
    dims = _named(dim)
    sizes = [x.shape[d] for d in dims]
    sizes[-1] = last_dim_size
    if not x.size:
        shape = list(x.shape)
        shape[dims[-1]] = last_dim_size
        return xp.zeros(shape, x.real.dtype)
    terms = xp.conj(x) if forward else x
    return xp.fft.irfftn(terms, s=sizes, axes=dims, norm="forward") * x.real.dtype.type(scale)
