"""Functions that make tensors from sizes and numbers."""
from flambeau.core import _core
from flambeau.core.composites.joins import broadcast_shape
from flambeau.core.composites.methods import index_put, index_put_
from flambeau.core.size import Size

_op = _core.operators()
_empty, _fill_ = _op["empty"], _op["fill_"]


def _size(args, what):
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        return args[0]
    return args


def _finish(x, requires_grad):
    _core._as_new(x)    # filling it was part of making it
    return x.requires_grad_(True) if requires_grad else x


def _accept_layout(what, layout, kwargs):
    kwargs.pop("pin_memory", None)
    if kwargs:
        raise TypeError(f"{what}() got an unexpected keyword argument '{next(iter(kwargs))}'")


def empty(*size, dtype=None, device=None, requires_grad=False, layout=None, memory_format=None,
          **kwargs):
    """Uninitialized memory.

    Args:
        size: Sizes of the dimensions, as ints or as one sequence.
        dtype: Element type; the default floating dtype when left out.
        device: Where to put it; the CPU when left out.
        requires_grad: Whether operations on it are recorded.

    Example:
        >>> import flambeau
        >>> flambeau.empty(2, 3).shape
        flambeau.Size([2, 3])
    """
    _accept_layout("empty", layout, kwargs)
    return _finish(_empty(_size(size, "empty"), dtype=dtype, device=device), requires_grad)


def zeros(*size, dtype=None, device=None, requires_grad=False, layout=None, **kwargs):
    """A tensor of zeros.

    Args:
        size: Sizes of the dimensions, as ints or as one sequence.
        dtype: Element type; the default floating dtype when left out.
        device: Where to put it; the CPU when left out.
        requires_grad: Whether operations on it are recorded.

    Example:
        >>> import flambeau
        >>> flambeau.zeros(2)
        tensor([0., 0.])
    """
    _accept_layout("zeros", layout, kwargs)
    size = kwargs.pop("size", size)
    x = _fill_(_empty(_size(size, "zeros"), dtype=dtype, device=device), 0)
    return _finish(x, requires_grad)


def ones(*size, dtype=None, device=None, requires_grad=False, layout=None, **kwargs):
    """A tensor of ones; arguments as for ``zeros``.

    Example:
        >>> import flambeau
        >>> flambeau.ones(2, dtype=flambeau.int64)
        tensor([1, 1])
    """
    _accept_layout("ones", layout, kwargs)
    x = _fill_(_empty(_size(size, "ones"), dtype=dtype, device=device), 1)
    return _finish(x, requires_grad)


def full(size, fill_value, *, dtype=None, device=None, requires_grad=False):
    """A tensor of one repeated number.

    Args:
        size: Sizes of the dimensions.
        fill_value: The number.
        dtype: Element type; that of the number when left out.
        device: Where to put it.
        requires_grad: Whether operations on it are recorded.

    Example:
        >>> import flambeau
        >>> flambeau.full((2,), 7)
        tensor([7, 7])
    """
    if dtype is None:
        dtype = type(fill_value) if isinstance(fill_value, (bool, int, complex)) else None
    size = (size,) if isinstance(size, int) else size
    x = _fill_(_empty(size, dtype=dtype, device=device), fill_value)
    return _finish(x, requires_grad)


def arange(start, end=None, step=1, *, dtype=None, device=None, requires_grad=False):
    """Numbers from ``start`` to ``end``, ``end`` excluded.

    Args:
        start: First number; the end when given alone.
        end: Where to stop.
        step: Distance between neighbours.
        dtype: Element type; int64 when all numbers are integers.
        device: Where to put it.
        requires_grad: Whether operations on it are recorded.

    Example:
        >>> import flambeau
        >>> flambeau.arange(3)
        tensor([0, 1, 2])
    """
    if end is None:
        start, end = 0, start
    x = _op["arange_of"](start, end, step, dtype=dtype, device=device)
    return _finish(x, requires_grad)


def linspace(start, end, steps, *, dtype=None, device=None, requires_grad=False):
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included.

    Example:
        >>> import flambeau
        >>> flambeau.linspace(0, 1, 3)
        tensor([0.0000, 0.5000, 1.0000])
    """
    x = _op["linspace"](start, end, steps, dtype=dtype, device=device)
    return _finish(x, requires_grad)


def eye(n, m=None, *, dtype=None, device=None, requires_grad=False):
    """The identity matrix, ``n`` by ``m``.

    Example:
        >>> import flambeau
        >>> flambeau.eye(2)
        tensor([[1., 0.],
                [0., 1.]])
    """
    x = _op["eye_of"](n, n if m is None else m, dtype=dtype, device=device)
    return _finish(x, requires_grad)


def rand(*size, generator=None, dtype=None, device=None, requires_grad=False, **kwargs):
    """Uniform random numbers in [0, 1).

    Args:
        size: Sizes of the dimensions.
        generator: The stream to use; the default one when left out.
        dtype: Element type.
        device: Where to put it.
        requires_grad: Whether operations on it are recorded.
    """
    _accept_layout("rand", None, kwargs)
    x = _op["random_uniform_"](_empty(_size(size, "rand"), dtype=dtype, device=device),
                               generator=generator)
    return _finish(x, requires_grad)


def randn(*size, generator=None, dtype=None, device=None, requires_grad=False, **kwargs):
    """Normal random numbers of mean 0 and variance 1; arguments as for ``rand``."""
    _accept_layout("randn", None, kwargs)
    x = _op["random_normal_"](_empty(_size(size, "randn"), dtype=dtype, device=device),
                              generator=generator)
    return _finish(x, requires_grad)


def randint(low, high=None, size=None, *, generator=None, dtype=None, device=None,
            requires_grad=False):
    """Random integers from ``low`` (0 when left out) to ``high``, ``high`` excluded.

    Args:
        low: Least integer; the end when ``high`` is left out.
        high: One more than the greatest integer.
        size: Sizes of the dimensions.
        generator: The stream to use.
        dtype: Element type; int64 when left out.
        device: Where to put it.
        requires_grad: Whether operations on it are recorded.
    """
    if size is None:
        low, high, size = 0, low, high
    if high is None:
        low, high = 0, low
    x = _empty(size, dtype=dtype or _core._dtype_named("int64"), device=device)
    return _finish(_op["random_integers_"](x, low, high, generator=generator), requires_grad)


def randperm(n, *, generator=None, dtype=None, device=None, requires_grad=False):
    """The numbers 0 to ``n - 1`` in random order."""
    x = _op["random_permutation"](n, generator=generator)
    if dtype is not None or device is not None:
        x = x.to(device=device, dtype=dtype)
    return _finish(x, requires_grad)


def logspace(start, end, steps, base=10.0, *, dtype=None, device=None, requires_grad=False):
    """``base`` to the power of evenly spaced numbers, end included.

    Args:
        start: First exponent.
        end: Last exponent.
        steps: How many numbers.
        base: The base of the powers.
        dtype: Element type; the default floating dtype when left out.
        device: Where to put it.
        requires_grad: Whether operations on it are recorded.

    Example:
        >>> import flambeau
        >>> flambeau.logspace(0, 2, 3)
        tensor([  1.,  10., 100.])
    """
    start, end = [v.item() if isinstance(v, _core.Tensor) else v for v in (start, end)]
    wide = _core._dtype_named("complex128" if isinstance(start, complex) or
                              isinstance(end, complex) else "float64")
    dtype = _core.get_default_dtype() if dtype is None else dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        start, end = int(start), int(end)
    powers = _op["pow"](base, _op["linspace"](start, end, steps, dtype=wide, device=device))
    return _finish(powers.to(dtype), requires_grad)


def scalar_tensor(s, *, dtype=None, device=None, requires_grad=False):
    """A 0-d tensor of a number, in the default floating dtype when none is given."""
    dtype = _core.get_default_dtype() if dtype is None else dtype
    return _finish(_op["full_of"]((), s, dtype=dtype, device=device), requires_grad)


def empty_strided(size, stride, *, dtype=None, device=None, requires_grad=False):
    """Uninitialized memory with given steps between neighbours, counted in elements."""
    x = _op["empty_strided"](size, stride, dtype=dtype, device=device)
    return _finish(x, requires_grad)


def _triangle(what, keep, row, col, offset, dtype, device):
    if row < 0 or col < 0:
        raise RuntimeError(f"{what}(): row and col must be non-negative, got {row} and {col}")
    kept = keep(_op["full_of"]((row, col), 1, dtype=_core._dtype_named("uint8"), device=device),
                offset)
    places = _op["contiguous_copy"](_op["t"](_op["nonzero"](kept)))
    return places if dtype is None else places.to(dtype)


def tril_indices(row, col, offset=0, *, dtype=None, device=None):
    """Rows and columns of the elements of a lower triangle, as a tensor of two rows."""
    return _triangle("tril_indices", _op["tril"], row, col, offset, dtype, device)


def triu_indices(row, col, offset=0, *, dtype=None, device=None):
    """Rows and columns of the elements of an upper triangle, as a tensor of two rows."""
    return _triangle("triu_indices", _op["triu"], row, col, offset, dtype, device)


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to.

    Args:
        shapes: Shapes as sequences of ints, or ints for vectors.

    Example:
        >>> import flambeau
        >>> flambeau.broadcast_shapes((2, 1), (3,))
        flambeau.Size([2, 3])
    """
    shapes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    for shape in shapes:
        if min(shape, default=0) < 0:
            raise RuntimeError(f"broadcast_shapes(): sizes must not be negative, got {shape}")
    return Size(broadcast_shape("broadcast_shapes", shapes))


FUNCTIONS = {f.__name__: f for f in (  # type: dict[str, object]
    empty, zeros, ones, full, arange, linspace, eye, rand, randn, randint, randperm, logspace,
    scalar_tensor, empty_strided, tril_indices, triu_indices, broadcast_shapes, index_put,
    index_put_)}

#: Functions of namespaces that are not rows, by dotted name: ``"fft.fftfreq"``.
NAMESPACE_FUNCTIONS = {}  # type: dict[str, object]
