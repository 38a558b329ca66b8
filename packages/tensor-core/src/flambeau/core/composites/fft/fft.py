"""Composite operators of Fourier transforms, and the frequencies of their terms."""
from math import sqrt

from flambeau.core import _core
from flambeau.core.composites.shape.resizing import write_to

_op = _core.operators()
_c2c, _r2c, _c2r = _op["fft_c2c"], _op["fft_r2c"], _op["fft_c2r"]
_FLIPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _dtype(name):
    return _core._dtype_named(name)


# ---- arguments ---------------------------------------------------------------------------------
def _scale(what, norm, count, forward):
    """The factor of a transform of ``count`` numbers."""
    if norm is None:
        norm = "backward"
    if norm not in _FLIPPED:
        raise RuntimeError(f'{what}(): Invalid normalization mode: "{norm}"; write "backward", '
                           '"forward" or "ortho"')
    if norm == "ortho":
        return 1.0 / sqrt(count)
    return 1.0 / count if forward == (norm == "forward") else 1.0


def _wrap(what, dim, ndim):
    if ndim == 0:
        raise IndexError(f"{what}(): Dimension specified as {dim} but tensor has no dimensions")
    if not -ndim <= dim < ndim:
        raise IndexError(f"{what}(): Dimension out of range (expected to be in range of "
                         f"[{-ndim}, {ndim - 1}], but got {dim})")
    return dim % ndim


def _check_dtype(what, x):
    if x.dtype.itemsize == 2 and x.is_floating_point():
        raise RuntimeError(f"{what}(): Unsupported dtype {x.dtype}; write x.float() first")


def _as_complex(what, x):
    """The tensor with complex elements."""
    _check_dtype(what, x)
    if x.is_complex():
        return x
    real = x.dtype if x.is_floating_point() else _core.get_default_dtype()
    return _op["cast"](x, _dtype("complex128" if real.itemsize == 8 else "complex64"))


def _as_real(what, x):
    """The tensor with floating-point elements."""
    if x.is_complex():
        raise RuntimeError(f"{what} expects a real input tensor, but got {x.dtype}; write x.real, "
                           "or call the transform of complex numbers")
    _check_dtype(what, x)
    return x if x.is_floating_point() else _op["cast"](x, _core.get_default_dtype())


def _check_length(what, n):
    if n < 1:
        raise RuntimeError(f"{what}(): Invalid number of data points ({n}) specified; a transform "
                           "needs at least one")


def _resized(x, dim, n):
    """Cut, or with zeros at the end, to ``n`` elements along a dimension."""
    size = x.shape[dim]
    if n == size:
        return x
    if n < size:
        return _op["narrow"](x, dim, 0, n)
    shape = list(x.shape)
    shape[dim] = n - size
    zeros = _op["full_of"](shape, 0, dtype=x.dtype, device=x.device)
    return _op["cat"]([x, zeros], dim)


def _sizes(what, x, s, dim):
    """The dimensions to transform, from 0 on, and their lengths."""
    ndim = x.ndim
    if dim is not None:
        dims = [_wrap(what, d, ndim) for d in dim]
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"{what}(): FFT dims must be unique, got {list(dim)}")
        if s is not None and len(s) != len(dims):
            raise RuntimeError(f"{what}(): When given, dim and shape arguments must have the same "
                               f"length, got dim={list(dim)} and s={list(s)}")
    elif s is not None and len(s) > ndim:
        raise RuntimeError(f"{what}(): Got shape with {len(s)} values but input tensor only has "
                           f"{ndim} dimensions.")
    else:
        dims = list(range(0 if s is None else ndim - len(s), ndim))
    sizes = [x.shape[d] for d in dims] if s is None else \
        [x.shape[d] if n == -1 else n for d, n in zip(dims, s, strict=True)]
    for n in sizes:
        _check_length(what, n)
    return dims, sizes


def _all_resized(x, dims, sizes):
    for d, n in zip(dims, sizes, strict=True):
        x = _resized(x, d, n)
    return x


def _product(sizes):
    total = 1
    for n in sizes:
        total *= n
    return total


# ---- transforms over several dimensions --------------------------------------------------------
def _complex(what, x, s, dim, norm, forward):
    _check_dtype(what, x)
    dims, sizes = _sizes(what, x, s, dim)
    scale = _scale(what, norm, _product(sizes), forward)
    if dims and not x.is_complex():
        x = _all_resized(_as_real(what, x), dims, sizes)
        return _r2c(x, dims, scale, False, forward)
    return _c2c(_all_resized(_as_complex(what, x), dims, sizes), dims, scale, forward)


def _at_least_one(what, dims):
    if not dims:
        raise RuntimeError(f"{what} must transform at least one axis")


def _from_real(what, x, s, dim, norm, forward):
    x = _as_real(what, x)
    dims, sizes = _sizes(what, x, s, dim)
    _at_least_one(what, dims)
    scale = _scale(what, norm, _product(sizes), forward)
    return _r2c(_all_resized(x, dims, sizes), dims, scale, True, forward)


def _to_real(what, x, s, dim, norm, forward):
    x = _as_complex(what, x)
    dims, sizes = _to_real_sizes(what, x, s, dim)
    n = sizes[-1]
    scale = _scale(what, norm, _product(sizes), forward)
    x = _all_resized(x, dims, [*sizes[:-1], n // 2 + 1])
    return _c2r(x, dims, n, scale, forward)


def _to_real_sizes(what, x, s, dim):
    """As ``_sizes``, but the last length counts the real numbers that result."""
    dims, sizes = _sizes(what, x, s, dim)
    _at_least_one(what, dims)
    if s is None or s[-1] == -1:
        sizes[-1] = 2 * (x.shape[dims[-1]] - 1)
        _check_length(what, sizes[-1])
    return dims, sizes


def _one(n):
    """The length of one dimension as those of several."""
    return None if n is None else (n,)


def _check_given(what, n):
    if n is not None:
        _check_length(what, n)


# ---- the functions -----------------------------------------------------------------------------
def fft_fft(x, n, dim, norm):
    _check_given("fft", n)
    return _complex("fft", x, _one(n), (dim,), norm, True)


def fft_ifft(x, n, dim, norm):
    _check_given("ifft", n)
    return _complex("ifft", x, _one(n), (dim,), norm, False)


def fft_rfft(x, n, dim, norm):
    _check_given("rfft", n)
    return _from_real("rfft", x, _one(n), (dim,), norm, True)


def fft_irfft(x, n, dim, norm):
    _check_given("irfft", n)
    return _to_real("irfft", x, _one(n), (dim,), norm, False)


def fft_hfft(x, n, dim, norm):
    _check_given("hfft", n)
    return _to_real("hfft", x, _one(n), (dim,), norm, True)


def fft_ihfft(x, n, dim, norm):
    _check_given("ihfft", n)
    return _from_real("ihfft", x, _one(n), (dim,), norm, False)


def fft_fft2(x, s, dim, norm):
    return _complex("fft2", x, s, dim, norm, True)


def fft_ifft2(x, s, dim, norm):
    return _complex("ifft2", x, s, dim, norm, False)


def fft_rfft2(x, s, dim, norm):
    return _from_real("rfft2", x, s, dim, norm, True)


def fft_irfft2(x, s, dim, norm):
    return _to_real("irfft2", x, s, dim, norm, False)


def fft_hfft2(x, s, dim, norm):
    return _to_real("hfft2", x, s, dim, norm, True)


def fft_ihfft2(x, s, dim, norm):
    return _from_real("ihfft2", x, s, dim, norm, False)


def fft_fftn(x, s, dim, norm):
    return _complex("fftn", x, s, dim, norm, True)


def fft_ifftn(x, s, dim, norm):
    return _complex("ifftn", x, s, dim, norm, False)


def fft_rfftn(x, s, dim, norm):
    return _from_real("rfftn", x, s, dim, norm, True)


def fft_irfftn(x, s, dim, norm):
    return _to_real("irfftn", x, s, dim, norm, False)


def fft_hfftn(x, s, dim, norm):
    return _to_real("hfftn", x, s, dim, norm, True)


def fft_ihfftn(x, s, dim, norm):
    return _from_real("ihfftn", x, s, dim, norm, False)


# ---- order of the terms ------------------------------------------------------------------------
def _rolled(what, x, dim, forward):
    dims = list(range(x.ndim)) if dim is None else [_wrap(what, d, x.ndim) for d in dim]
    if not dims:
        raise RuntimeError(f"{what}(): `shifts` required: there is no dimension to shift")
    shifts = [x.shape[d] // 2 if forward else (x.shape[d] + 1) // 2 for d in dims]
    return _op["roll"](x, shifts, dims)


def fft_fftshift(x, dim):
    return _rolled("fftshift", x, dim, True)


def fft_ifftshift(x, dim):
    return _rolled("ifftshift", x, dim, False)


# ---- frequencies -------------------------------------------------------------------------------
def _frequencies(what, parts, n, d, out, dtype, device, requires_grad):
    if n < 0:
        raise RuntimeError(f"{what}(): Trying to create tensor with negative dimension {n}: [{n}]")
    dtype = dtype or (out.dtype if out is not None else _core.get_default_dtype())
    if not dtype.is_floating_point:
        raise RuntimeError(f"{what} requires a floating point dtype, got {dtype}")
    device = _core._where(device)
    pieces = [_op["arange_of"](start, end, 1, dtype=dtype, device=device) for start, end in parts]
    numbers = pieces[0] if len(pieces) == 1 else _op["cat"](pieces, 0)
    result = _op["mul"](numbers, 1.0 / (n * d)) if n else numbers
    if out is not None:
        return write_to(out, result, in_a_row=True, warning=what)
    _core._as_new(result)
    return _core.requiring(result, requires_grad) if requires_grad else result


def fftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies of the terms of a transform of ``n`` numbers.

    Args:
        n: Length of the transform.
        d: Distance between neighbouring samples.
        out: Where to write the result.
        dtype: Floating dtype; the default one when left out.
        device: Where to put it.
        requires_grad: Whether operations on it are recorded.

    Example:
        >>> import flambeau
        >>> flambeau.fft.fftfreq(4)
        tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    parts = ((0, (n + 1) // 2), (-(n // 2), 0))
    return _frequencies("fftfreq", parts, n, d, out, dtype, device, requires_grad)


def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies of the terms of a transform of ``n`` real numbers; as ``fftfreq``.

    Example:
        >>> import flambeau
        >>> flambeau.fft.rfftfreq(4)
        tensor([0.0000, 0.2500, 0.5000])
    """
    return _frequencies("rfftfreq", ((0, n // 2 + 1),), n, d, out, dtype, device, requires_grad)


NAMESPACE_FUNCTIONS: dict[str, object] = {"fft.fftfreq": fftfreq, "fft.rfftfreq": rfftfreq}
