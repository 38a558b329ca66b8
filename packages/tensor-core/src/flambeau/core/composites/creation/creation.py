"""Functions that make tensors from sizes and numbers."""
from numbers import Number

from flambeau.core import _core
from flambeau.core.composites.random.integers import expect_permutation
from flambeau.core.composites.shape.resizing import write_to
from flambeau.core.layouts import expect_layout, expect_strided

_op, _where = _core.operators(), _core._where
_empty, _fill_ = _op["empty"], _op["fill_"]


def _size(args, given):
    """Sizes given one by one, as one sequence, or by the name ``size``."""
    if given is not None:
        return given
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        return args[0]
    return args


def _finished(x, out, requires_grad, **ways):
    """The finished tensor, in ``out`` where that is given."""
    if out is not None:
        x = write_to(out, x, **ways)
    else:
        _core._as_new(x)    # filling it was part of making it
    return _core.requiring(x, requires_grad) if requires_grad else x


def _kind(dtype, out, default=None):
    """The dtype asked for, else that of ``out``, else a default."""
    if dtype is not None:
        return dtype
    return default if out is None else out.dtype


def _blank(what, size, dtype, device):
    """Memory to fill; errors name the function that was called."""
    try:
        return _empty(size, dtype=dtype, device=_where(device))
    except (TypeError, ValueError, RuntimeError) as error:
        error.args = (f"{what}(): {str(error).removeprefix('empty(): ')}",)
        raise


def _filled(what, args, size, number, dtype, device, out, requires_grad):
    x = _blank(what, _size(args, size), _kind(dtype, out), device)
    return _finished(_fill_(x, number), out, requires_grad)


def empty(*args, size=None, out=None, dtype=None, device=None, requires_grad=False, layout=None,
          memory_format=None, pin_memory=False):
    """Uninitialized memory.

    Args:
        args: Sizes of the dimensions, as ints or as one sequence.
        size: The same by name.
        out: A tensor to give back in that shape.
        dtype: Element type; the default floating dtype when left out.
        device: Where to put it; the default device when left out.
        requires_grad: Whether operations on it are recorded.
        layout: ``flambeau.strided``, or that of a sparse tensor, of which no element is stored.
        memory_format: How the elements of an image batch lie in memory; in C order when left out.
        pin_memory: Accepted for compatibility.

    Example:
        >>> import flambeau
        >>> flambeau.empty(2, 3).shape
        flambeau.Size([2, 3])
    """
    shape, dtype = _size(args, size), _kind(dtype, out)
    if layout is not None and layout != "strided":
        return _of_layout("empty", shape, layout, dtype, device, requires_grad)
    if memory_format in (None, "contiguous_format"):
        x = _blank("empty", shape, dtype, device)
    else:
        x = _in_format(shape, memory_format, dtype, _where(device))
    return _finished(x, out, requires_grad)


def _in_format(shape, memory_format, dtype, device):
    if memory_format == "preserve_format":
        raise RuntimeError("empty(): unsupported memory format preserve_format; there is no tensor "
                           "to take the order of, name the format that is wanted")
    plain = _blank("empty", shape, None, "meta")
    strides = _core.format_strides(plain, memory_format)
    return _strided(plain.shape, strides, dtype, device)


def empty_strided(size, stride, *, dtype=None, device=None, requires_grad=False, layout=None,
                  pin_memory=False):
    """Uninitialized memory with given strides.

    Args:
        size: Sizes of the dimensions.
        stride: Elements between neighbours of each dimension.
        dtype: Element type; the default floating dtype when left out.
        device: Where to put it; the default device when left out.
        requires_grad: Whether operations on it are recorded.
        layout: ``flambeau.strided``; others are refused.
        pin_memory: Accepted for compatibility.
    """
    expect_strided("empty_strided", layout)
    return _finished(_strided(size, stride, dtype, _where(device)), None, requires_grad)


def _strided(size, stride, dtype, device):
    """Memory with given strides: of its own where they fill it, else a view of more."""
    try:
        return _op["empty_strided"](size, stride, dtype=dtype, device=device)
    except NotImplementedError:
        reach = [(n - 1) * step for n, step in zip(size, stride, strict=True)]
        count = 0 if 0 in size else 1 + sum(reach)
        return _op["as_strided"](_empty((count,), dtype=dtype, device=device), size, stride)


def zeros(*args, size=None, out=None, dtype=None, device=None, requires_grad=False, layout=None,
          pin_memory=False):
    """A tensor of zeros; arguments as for ``empty``.

    Example:
        >>> import flambeau
        >>> flambeau.zeros(2)
        tensor([0., 0.])
    """
    if layout is not None and layout != "strided":
        return _of_layout("zeros", _size(args, size), layout, _kind(dtype, out), device,
                          requires_grad)
    if out is not None and _core.is_sparse_object(out):
        return out._become(_of_layout("zeros", _size(args, size), out.layout, _kind(dtype, out),
                                      device, requires_grad))
    return _filled("zeros", args, size, 0, dtype, device, out, requires_grad)


def _of_layout(what, shape, layout, dtype, device, requires_grad):
    """A tensor of a sparse layout without elements."""
    from flambeau.sparse._make import empty_of_layout

    expect_layout(what, layout)
    made = empty_of_layout(shape, layout, dtype, _where(device))
    return _core.requiring(made, True) if requires_grad else made


def ones(*args, size=None, out=None, dtype=None, device=None, requires_grad=False, layout=None,
         pin_memory=False):
    """A tensor of ones; arguments as for ``empty``.

    Example:
        >>> import flambeau
        >>> flambeau.ones(2, dtype=flambeau.int64)
        tensor([1, 1])
    """
    expect_strided("ones", layout)
    return _filled("ones", args, size, 1, dtype, device, out, requires_grad)


def full(size, fill_value, *, out=None, dtype=None, device=None, requires_grad=False, layout=None,
         pin_memory=False):
    """A tensor of one repeated number.

    Args:
        size: Sizes of the dimensions.
        fill_value: The number.
        out: A tensor to write to.
        dtype: Element type; that of the number when left out.
        device: Where to put it.
        requires_grad: Whether operations on it are recorded.
        layout: ``flambeau.strided``; others are refused.
        pin_memory: Accepted for compatibility.

    Example:
        >>> import flambeau
        >>> flambeau.full((2,), 7)
        tensor([7, 7])
    """
    expect_strided("full", layout)
    size = (size,) if isinstance(size, int) else size
    kind = _kind(dtype, out)
    if isinstance(fill_value, _core.Tensor):
        _expect_no_grad("full", fill_value)
        kind = kind or _default_of(fill_value)
        x = _fill_(_blank("full", size, kind, device), fill_value)
    else:
        _expect_numbers("full", fill_value=fill_value)
        x = _op["full_of"](size, fill_value, dtype=kind, device=_where(device))
    return _finished(x, out, requires_grad)


def _expect_numbers(what, **arguments):
    for name, value in arguments.items():
        if not isinstance(value, Number):
            raise TypeError(f"{what}(): argument '{name}' must be number, not "
                            f"{type(value).__name__}")


def _expect_no_grad(what, fill_value):
    if fill_value.requires_grad:
        raise TypeError(f"{what}(): argument 'fill_value' must be number, not a Tensor that "
                        "requires grad, whose gradient would be lost; write x.item(), or "
                        "x.expand(size)")


def _default_of(x):
    """The dtype of a number of the same kind as the elements of a tensor."""
    if x.is_complex():
        return _default_complex()
    whole = not x.is_floating_point() and x.dtype.name != "bool"
    return _core._dtype_named("int64") if whole else None if x.is_floating_point() else x.dtype


def _default_complex():
    return _core.promote_types(_core.get_default_dtype(), _core._dtype_named("complex64"))


def scalar_tensor(s, *, dtype=None, device=None, requires_grad=False, layout=None,
                  pin_memory=False):
    """One number as a tensor without dimensions, of the default floating dtype.

    Example:
        >>> import flambeau
        >>> flambeau.scalar_tensor(3)
        tensor(3.)
    """
    expect_strided("scalar_tensor", layout)
    return _finished(_fill_(_empty((), dtype=dtype, device=_where(device)), s), None, requires_grad)


def arange(*args, start=0, end=None, step=1, out=None, dtype=None, device=None,
           requires_grad=False, layout=None, pin_memory=False):
    """Numbers from ``start`` to ``end``, ``end`` excluded.

    Args:
        args: ``end``, or ``start, end``, or ``start, end, step``.
        start: First number.
        end: Where to stop.
        step: Distance between neighbours.
        out: A tensor to write to.
        dtype: Element type; int64 when all numbers are integers.
        device: Where to put it.
        requires_grad: Whether operations on it are recorded.
        layout: ``flambeau.strided``; others are refused.
        pin_memory: Accepted for compatibility.

    Example:
        >>> import flambeau
        >>> flambeau.arange(3)
        tensor([0, 1, 2])
    """
    expect_strided("arange", layout)
    if len(args) > 3:
        raise TypeError(f"arange() takes at most 3 positional arguments (start, end, step), but "
                        f"{len(args)} were given")
    if len(args) == 1 and end is None:
        end = args[0]
    elif args:
        start = args[0]
        end = args[1] if len(args) > 1 else end
        step = args[2] if len(args) > 2 else step
    if end is None:
        raise TypeError("arange() missing required argument 'end'; write arange(end)")
    x = _op["arange_of"](start, end, step, dtype=_kind(dtype, out), device=_where(device))
    return _finished(x, out, requires_grad, in_a_row=True, warning="arange")


def eye(n, m=None, *, out=None, dtype=None, device=None, requires_grad=False, layout=None,
        pin_memory=False):
    """The identity matrix, ``n`` by ``m``.

    Example:
        >>> import flambeau
        >>> flambeau.eye(2)
        tensor([[1., 0.],
                [0., 1.]])
    """
    expect_strided("eye", layout)
    x = _op["eye_of"](n, n if m is None else m, dtype=_kind(dtype, out), device=_where(device))
    return _finished(x, out, requires_grad)


# ---- random numbers ----------------------------------------------------------------------------
#: What fills the memory.
_DRAWN = {"rand": _op["random_uniform_"], "randn": _op["random_normal_"]}


def _drawn(what, shape, generator, out, dtype, device, requires_grad):
    """A tensor of random numbers; ``what`` is ``rand`` or ``randn``."""
    x = _blank(what, shape, _kind(dtype, out), device)
    if x.dtype is _core._dtype_named("complex32"):     # stored as pairs of halves, of which each
        scale = {"std": 0.5 ** 0.5} if what == "randn" else {}      # has half of the variance
        _DRAWN[what](_op["view_as_real"](x), generator=generator, **scale)
    else:
        _DRAWN[what](x, generator=generator)
    return _finished(x, out, requires_grad)


def rand(*args, size=None, generator=None, out=None, dtype=None, device=None, requires_grad=False,
         layout=None, pin_memory=False):
    """Uniform random numbers in [0, 1).

    Args:
        args: Sizes of the dimensions, as ints or as one sequence.
        size: The same by name.
        generator: The stream to use; the default one when left out.
        out: A tensor to write to.
        dtype: Element type.
        device: Where to put it.
        requires_grad: Whether operations on it are recorded.
        layout: ``flambeau.strided``; others are refused.
        pin_memory: Accepted for compatibility.
    """
    expect_strided("rand", layout)
    return _drawn("rand", _size(args, size), generator, out, dtype, device, requires_grad)


def randn(*args, size=None, generator=None, out=None, dtype=None, device=None,
          requires_grad=False, layout=None, pin_memory=False):
    """Normal random numbers of mean 0 and variance 1; arguments as for ``rand``."""
    expect_strided("randn", layout)
    return _drawn("randn", _size(args, size), generator, out, dtype, device, requires_grad)


def randint(low=0, high=None, size=None, *, generator=None, out=None, dtype=None, device=None,
            requires_grad=False, layout=None, pin_memory=False):
    """Random integers from ``low`` (0 when left out) to ``high``, ``high`` excluded.

    Args:
        low: Least integer; the end when ``high`` is left out.
        high: One more than the greatest integer.
        size: Sizes of the dimensions.
        generator: The stream to use.
        out: A tensor to write to.
        dtype: Element type; int64 when left out.
        device: Where to put it.
        requires_grad: Whether operations on it are recorded.
        layout: ``flambeau.strided``; others are refused.
        pin_memory: Accepted for compatibility.
    """
    expect_strided("randint", layout)
    if size is None:
        low, high, size = 0, low, high
    if high is None:
        low, high = 0, low
    if size is None:
        raise TypeError("randint() missing required argument 'size'; write randint(high, (2, 3))")
    x = _blank("randint", size, _kind(dtype, out, _core._dtype_named("int64")), device)
    return _finished(_op["random_integers_"](x, low, high, generator=generator), out, requires_grad)


def randperm(n, *, generator=None, out=None, dtype=None, device=None, requires_grad=False,
             layout=None, pin_memory=False):
    """The numbers 0 to ``n - 1`` in random order."""
    expect_strided("randperm", layout)
    if isinstance(n, int) and n < 0:
        raise RuntimeError(f"randperm(): n must be non-negative, not {n}")
    dtype, device = _kind(dtype, out), _where(device)
    expect_permutation(n, dtype)
    x = _op["random_permutation"](n, generator=generator)
    if dtype is not None or device is not None:
        x = x.to(device=device, dtype=dtype)
    return _finished(x, out, requires_grad)


FUNCTIONS = {f.__name__: f for f in (  # type: dict[str, object]
    empty, empty_strided, zeros, ones, full, scalar_tensor, arange, eye, rand,
    randn, randint, randperm)}
