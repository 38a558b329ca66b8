"""Functions that make tensors from sizes and numbers."""
from flambeau.core import _core

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


def meshgrid(*tensors, indexing="ij"):
    """Coordinate grids of vectors.

    Args:
        tensors: Vectors.
        indexing: ``"ij"`` or ``"xy"``.
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f"meshgrid(): indexing must be 'ij' or 'xy', got {indexing!r}")
    swapped = indexing == "xy" and len(tensors) >= 2
    if swapped:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    sizes = [t.numel() for t in tensors]
    grids = []
    for i, t in enumerate(tensors):
        shape = [1] * len(sizes)
        shape[i] = sizes[i]
        grids.append(_op["expand"](_op["reshape"](t, shape), sizes))
    if swapped:
        grids = [_op["transpose"](g, 0, 1) for g in grids]
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


FUNCTIONS = {f.__name__: f for f in (  # type: dict[str, object]
    empty, zeros, ones, full, arange, linspace, eye, rand, randn, randint, randperm, meshgrid)}

#: Functions of namespaces that are not rows, by dotted name: ``"fft.fftfreq"``.
NAMESPACE_FUNCTIONS = {}  # type: dict[str, object]
