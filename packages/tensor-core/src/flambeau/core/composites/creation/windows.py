"""Window functions: ``flambeau.signal.windows`` and PyTorch's older names for some of them.

They are computed in float64 and cast, so that every dtype gets the nearest numbers.
"""
from math import pi

from flambeau.core import _core
from flambeau.core.layouts import expect_strided

_op = _core.operators()


def _check_length(name, count):
    if count < 0:
        raise ValueError(f"{name}() requires non-negative window length, got M={count}")


def _check(name, count, dtype, layout):
    """What the functions of ``signal.windows`` ask."""
    if layout is not None and layout != "strided":
        raise ValueError(f"{name}() is implemented for strided tensors only, got: {layout}; leave "
                         "layout= out")
    _check_length(name, count)
    dtype = dtype or _core.get_default_dtype()
    if dtype.name not in ("float32", "float64"):
        raise ValueError(f"{name}() expects dtype float32 or float64, got {dtype}; convert the "
                         f"window: {name}(M, dtype=flambeau.float32).to({dtype})")


def _check_older(name, count, dtype, layout):
    """What PyTorch's older names ask: they also give half precision."""
    expect_strided(name, layout)
    _check_length(name, count)
    if dtype is not None and not dtype.is_floating_point:
        raise _core.ArgumentError(f"{name}() expects floating point dtypes, got {dtype}; write "
                                  "dtype=flambeau.float32")


def _steps(start, end, count):
    return _op["linspace"](start, end, count, dtype=_core._dtype_named("float64"))


def _positions(count, sym):
    """Numbers 0 to M - 1, as parts of the window's length."""
    length = count - 1 if sym else count
    last = (count - 1) / length if length > 0 else 0.0
    return _steps(0.0, last, count)


def _centred(count, sym):
    """Distances from the centre, in elements."""
    length = count if sym else count + 1
    start = -(length - 1) / 2.0
    return _steps(start, start + count - 1, count)


def _finish(window, count, dtype, device, requires_grad):
    if count == 1:
        window = _op["fill_"](window, 1.0)
    window = window.to(device=_core._where(device), dtype=dtype or _core.get_default_dtype())
    return _core.requiring(window, requires_grad) if requires_grad else window


def _cosines(indices, weights):
    """``sum((-1)^k a_k cos(2 pi k x))``."""
    total = _op["full_of"](indices.shape, float(weights[0]), dtype=indices.dtype)
    for k, weight in enumerate(weights[1:], 1):
        total = _op["add"](total, _op["cos"](_op["mul"](indices, 2 * pi * k)),
                           alpha=float(-weight if k % 2 else weight))
    return total


def general_cosine(M, *, a, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """A weighted sum of cosines with alternating signs.

    Args:
        M: Length of the window.
        a: The weights, from the constant on.
        sym: Whether the window is symmetric; else it is one period of a longer one.
        dtype: Element type; the default floating dtype when left out.
        layout: ``flambeau.strided``; others are refused.
        device: Where to put it.
        requires_grad: Whether operations on it are recorded.

    Example:
        >>> import flambeau
        >>> flambeau.signal.windows.general_cosine(3, a=[0.5, 0.5])
        tensor([0., 1., 0.])
    """
    _check("general_cosine", M, dtype, layout)
    a = list(a)
    if not a:
        raise ValueError("general_cosine(): coefficients must not be empty")
    window = _cosines(_positions(M, sym), a)
    return _finish(window, M, dtype, device, requires_grad)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=None, device=None,
                    requires_grad=False):
    """``alpha - (1 - alpha) cos(2 pi n / (M - 1))``; arguments as for ``general_cosine``."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout,
                          device=device, requires_grad=requires_grad)


def _of_cosines(name, weights, doc):
    def window(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
        _check(name, M, dtype, layout)
        return general_cosine(M, a=weights, sym=sym, dtype=dtype, device=device,
                              requires_grad=requires_grad)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = f"{doc}; arguments as for ``general_cosine``."
    return window


hamming = _of_cosines("hamming", [0.54, 0.46], "Hamming's window")
hann = _of_cosines("hann", [0.5, 0.5], "Hann's window, a raised cosine")
blackman = _of_cosines("blackman", [0.42, 0.5, 0.08], "Blackman's window")
nuttall = _of_cosines("nuttall", [0.3635819, 0.4891775, 0.1365995, 0.0106411],
                      "Nuttall's window of least sidelobes")


def bartlett(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """A triangle that ends in zeros; arguments as for ``general_cosine``."""
    _check("bartlett", M, dtype, layout)
    slope = _op["abs"](_op["sub"](_op["mul"](_positions(M, sym), 2.0), 1.0))
    return _finish(_op["rsub"](slope, 1.0), M, dtype, device, requires_grad)


def cosine(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Half a period of a sine; arguments as for ``general_cosine``."""
    _check("cosine", M, dtype, layout)
    length = M if sym else M + 1
    angle = _steps(0.5 * pi / max(length, 1), (M - 0.5) * pi / max(length, 1), M)
    return _finish(_op["sin"](angle), M, dtype, device, requires_grad)


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=None, device=None,
                requires_grad=False):
    """``exp(-|n - center| / tau)``; a center can be given where the window is not symmetric."""
    _check("exponential", M, dtype, layout)
    if tau <= 0:
        raise ValueError(f"exponential(): tau must be positive, got {tau}")
    if sym and center is not None:
        raise ValueError("exponential(): center must be None for symmetric windows; give sym=False")
    middle = (M - (1 if sym else 0)) / 2.0 if center is None else center
    away = _op["abs"](_steps(-middle, -middle + M - 1, M))
    window = _op["exp"](_op["mul"](away, -1.0 / tau))
    return _finish(window, M, dtype, device, requires_grad)


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """``exp(-(n / std)**2 / 2)`` around the centre; arguments as for ``general_cosine``."""
    _check("gaussian", M, dtype, layout)
    if std <= 0:
        raise ValueError(f"gaussian(): std must be positive, got {std}")
    squares = _op["square"](_centred(M, sym))
    window = _op["exp"](_op["mul"](squares, -0.5 / std ** 2))
    return _finish(window, M, dtype, device, requires_grad)


def _bessel_i0(x, largest):
    """The modified Bessel function of order 0, by its power series; all terms are positive."""
    quarter = _op["mul"](_op["square"](x), 0.25)
    term = total = _op["full_of"](x.shape, 1.0, dtype=x.dtype)
    for k in range(1, int(1.5 * largest) + 30):
        term = _op["mul"](term, _op["mul"](quarter, 1.0 / (k * k)))
        total = _op["add"](total, term)
    return total


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Kaiser's window, from a Bessel function; ``beta`` trades width for sidelobes."""
    _check("kaiser", M, dtype, layout)
    if beta < 0:
        raise ValueError(f"kaiser(): beta must be non-negative, got {beta}")
    if M == 0:
        return _finish(_steps(0.0, 0.0, 0), M, dtype, device, requires_grad)
    side = _op["sub"](_op["mul"](_positions(M, sym), 2.0), 1.0)
    arc = _op["mul"](_op["sqrt"](_op["clamp_min"](_op["rsub"](_op["square"](side), 1.0), 0.0)),
                     float(beta))
    whole = _bessel_i0(_op["full_of"]((), float(beta), dtype=arc.dtype), beta)
    window = _op["div"](_bessel_i0(arc, beta), whole)
    return _finish(window, M, dtype, device, requires_grad)


# ---- PyTorch's older names ---------------------------------------------------------------------
def _in_double(new, count, periodic, **shape):
    return new(count, sym=not periodic, dtype=_core._dtype_named("float64"), **shape)


def _older(name, new, doc):
    def window(window_length, periodic=True, *, dtype=None, layout=None, device=None,
               pin_memory=False, requires_grad=False):
        _check_older(name, window_length, dtype, layout)
        result = _in_double(new, window_length, periodic)
        return _finish(result, window_length, dtype, device, requires_grad)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = doc
    return window


hann_window = _older("hann_window", hann, "Hann's window; periodic unless asked otherwise.")
blackman_window = _older("blackman_window", blackman,
                         "Blackman's window; periodic unless asked otherwise.")
bartlett_window = _older("bartlett_window", bartlett,
                         "A triangle; periodic unless asked otherwise.")


def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, layout=None,
                   device=None, pin_memory=False, requires_grad=False):
    """``alpha - beta cos(2 pi n / N)``; periodic unless asked otherwise."""
    _check_older("hamming_window", window_length, dtype, layout)
    result = _in_double(general_cosine, window_length, periodic, a=[alpha, beta])
    return _finish(result, window_length, dtype, device, requires_grad)


def kaiser_window(window_length, periodic=True, beta=12.0, *, dtype=None, layout=None, device=None,
                  pin_memory=False, requires_grad=False):
    """Kaiser's window; periodic unless asked otherwise."""
    _check_older("kaiser_window", window_length, dtype, layout)
    result = _in_double(kaiser, window_length, periodic, beta=beta)
    return _finish(result, window_length, dtype, device, requires_grad)


WINDOWS = {f"signal.windows.{f.__name__}": f for f in (  # type: dict[str, object]
    bartlett, blackman, cosine, exponential, gaussian, general_cosine, general_hamming, hamming,
    hann, kaiser, nuttall)}
FUNCTIONS = {f.__name__: f for f in (  # type: dict[str, object]
    hann_window, hamming_window, blackman_window, bartlett_window, kaiser_window)}
