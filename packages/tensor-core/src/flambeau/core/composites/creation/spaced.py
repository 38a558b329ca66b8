"""Numbers at even distances, in a row or as exponents."""
from flambeau.core import _core
from flambeau.core.composites.creation.creation import (
    _default_complex,
    _expect_numbers,
    _finished,
    _kind,
)
from flambeau.core.layouts import expect_strided

_op, _where = _core.operators(), _core._where


def linspace(start, end, steps, *, out=None, dtype=None, device=None, requires_grad=False,
             layout=None, pin_memory=False):
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included.

    Example:
        >>> import flambeau
        >>> flambeau.linspace(0, 1, 3)
        tensor([0.0000, 0.5000, 1.0000])
    """
    expect_strided("linspace", layout)
    kind = _kind(dtype, out)
    x = _op["linspace"](_number(start), _number(end), steps, dtype=kind, device=_where(device))
    return _finished(x, out, requires_grad, in_a_row=True)


def logspace(start, end, steps, base=10.0, *, out=None, dtype=None, device=None,
             requires_grad=False, layout=None, pin_memory=False):
    """Powers of ``base`` whose exponents are evenly spaced from ``start`` to ``end``.

    Args:
        start: First exponent.
        end: Last exponent.
        steps: How many numbers.
        base: What is raised to the exponents.
        out: A tensor to write to.
        dtype: Element type; the default floating dtype when left out.
        device: Where to put it.
        requires_grad: Whether operations on it are recorded.
        layout: ``flambeau.strided``; others are refused.
        pin_memory: Accepted for compatibility.

    Example:
        >>> import flambeau
        >>> flambeau.logspace(0, 2, 3)
        tensor([  1.,  10., 100.])
    """
    expect_strided("logspace", layout)
    numbers = [_number(v) for v in (start, end, base)]
    _expect_numbers("logspace", start=numbers[0], end=numbers[1], base=numbers[2])
    if not hasattr(steps, "__index__"):
        raise TypeError(f"logspace(): argument 'steps' must be int, not {type(steps).__name__}")
    if steps < 0:
        raise RuntimeError(f"logspace(): number of steps must be non-negative, not {steps}")
    kind = _kind(dtype, out)
    whole = kind is not None and not kind.is_floating_point and not kind.is_complex
    is_complex = any(isinstance(v, complex) for v in numbers) or (
        kind is not None and kind.is_complex)
    wide = _core._dtype_named("complex128" if is_complex else "float64")
    exponents = _op["linspace"](*numbers[:2], steps, dtype=wide, device=_where(device))
    x = _op["pow"](numbers[2], exponents)
    if kind is None:
        kind = _default_complex() if is_complex else _core.get_default_dtype()
    if is_complex and not kind.is_complex:
        raise RuntimeError(f"logspace(): inferred dtype {wide} can't be safely cast to passed "
                           f"dtype {kind}; leave dtype out, or give real numbers")
    if whole:       # rounding must not take a whole power below itself
        x = _op["mul"](x, 1.0 + 2.0 ** -51)
    x = _op["cast"](x, kind)
    return _finished(x, out, requires_grad, in_a_row=True)


def _number(value):
    return value.item() if isinstance(value, _core.Tensor) else value


FUNCTIONS: dict[str, object] = {f.__name__: f for f in (linspace, logspace)}
