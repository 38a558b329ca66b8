"""The frequencies of the terms of Fourier transforms."""
from flambeau.core import _core
from flambeau.core.composites.shape.resizing import write_to
from flambeau.core.layouts import expect_strided

_op = _core.operators()


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
    expect_strided("fftfreq", layout)
    parts = ((0, (n + 1) // 2), (-(n // 2), 0))
    return _frequencies("fftfreq", parts, n, d, out, dtype, device, requires_grad)


def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies of the terms of a transform of ``n`` real numbers; as ``fftfreq``.

    Example:
        >>> import flambeau
        >>> flambeau.fft.rfftfreq(4)
        tensor([0.0000, 0.2500, 0.5000])
    """
    expect_strided("rfftfreq", layout)
    return _frequencies("rfftfreq", ((0, n // 2 + 1),), n, d, out, dtype, device, requires_grad)


NAMESPACE_FUNCTIONS: dict[str, object] = {"fft.fftfreq": fftfreq, "fft.rfftfreq": rfftfreq}
