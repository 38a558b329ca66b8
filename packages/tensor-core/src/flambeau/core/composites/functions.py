"""Public functions that are no operators of their own."""
from flambeau.core import _core
from flambeau.core.compat import flat_names, settings
from flambeau.core.composites import methods, tensor_queries
from flambeau.core.composites.creation import creation, data, permuted, spaced, windows
from flambeau.core.composites.fft import fft
from flambeau.core.composites.matmul.einsum import einsum
from flambeau.core.composites.methods import imag, real
from flambeau.core.composites.shape import resizing
from flambeau.core.composites.shape.joins import broadcast_shape
from flambeau.core.size import Size

_op = _core.operators()


def _below(row, col, shift):
    """How many elements lie below a diagonal: the sum of min(max(i + shift, 0), col) over rows."""
    start, stop = max(0, -shift), max(0, -shift, min(row, col - shift))
    slope = (start + stop - 1 + 2 * shift) * (stop - start) // 2
    return slope + max(0, row - max(0, col - shift)) * col


def _triangle(what, upper, row, col, offset, dtype, device):
    """Each row number as often as its row has elements, and the columns counted from its first."""
    if row < 0 or col < 0:
        raise RuntimeError(f"{what}(): row and col must be non-negative, got {row} and {col}")
    device = _core._where(device)
    offset = max(-row, min(offset, col))    # beyond, nothing changes
    numbers = _op["arange_of"](0, row, 1, dtype=_core._dtype_named("int64"), device=device)
    shift = offset if upper else offset + 1
    border = _op["clamp"](_op["add"](numbers, shift), 0, col)
    counts, below = _op["rsub"](border, col) if upper else border, _below(row, col, shift)
    rows = _op["repeat_indices"](counts, row * col - below if upper else below)
    shift = _op["sub"](_op["cumsum"](counts, 0), col if upper else border)
    columns = _op["sub"](
        _op["arange_of"](0, rows.shape[0], 1, dtype=numbers.dtype, device=device),
        _op["index_select"](shift, 0, rows))
    indices = _op["stack"]([rows, columns])
    return indices if dtype is None else indices.to(dtype)


def tril_indices(row, col, offset=0, *, dtype=None, device=None):
    """Rows and columns of the elements of a lower triangle, as a tensor of two rows."""
    return _triangle("tril_indices", False, row, col, offset, dtype, device)


def triu_indices(row, col, offset=0, *, dtype=None, device=None):
    """Rows and columns of the elements of an upper triangle, as a tensor of two rows."""
    return _triangle("triu_indices", True, row, col, offset, dtype, device)


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to.

    Args:
        shapes: Shapes as sequences of ints, or ints for vectors.

    Example:
        >>> import flambeau
        >>> flambeau.broadcast_shapes((2, 1), (3,))
        flambeau.Size([2, 3])
    """
    for shape in shapes:
        if not isinstance(shape, (int, tuple, list)):
            raise RuntimeError("broadcast_shapes(): Input shapes should be of type ints, a tuple "
                               f"of ints, or a list of ints, got {shape!r}")
    wanted = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    for shape in wanted:
        if min(shape, default=0) < 0:
            raise RuntimeError(f"broadcast_shapes(): sizes must not be negative, got {shape}")
    return Size(broadcast_shape("broadcast_shapes", wanted))


def chain_matmul(*matrices, out=None):
    """The product of several matrices, in the order that needs the fewest multiplications.

    Args:
        matrices: At least one matrix.
        out: Where to put the result.
    """
    if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)):
        matrices = tuple(matrices[0])
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for x in matrices:
        if x.ndim != 2:
            raise RuntimeError(f"chain_matmul(): Tensor dimension is {x.ndim}, expected 2 instead."
                               "; linalg.multi_dot takes vectors at both ends")
    if len(matrices) == 1:
        return matrices[0] if out is None else _op["clone"](matrices[0], out=out)
    return _op["linalg_multi_dot"](list(matrices), out=out)


# Methods that are functions, too: two objects, as of operators (see `_method_of` in operators.pxi).
def conj(input):
    return methods.conj(input)


def index_put(input, indices, values, accumulate=False):
    return methods.index_put(input, indices, values, accumulate)


def index_put_(input, indices, values, accumulate=False):
    return methods.index_put_(input, indices, values, accumulate)


def resize_as_(input, the_template, *, memory_format=None):
    return resizing.resize_as_(input, the_template, memory_format=memory_format)


for _function, _home in ((conj, methods), (index_put, methods), (index_put_, methods),
                         (resize_as_, resizing)):
    _function.__doc__ = getattr(_home, _function.__name__).__doc__


FUNCTIONS: dict[str, object] = {
    **creation.FUNCTIONS, **spaced.FUNCTIONS, **windows.FUNCTIONS,
    **tensor_queries.FUNCTIONS, **flat_names.FUNCTIONS, **data.FUNCTIONS, **settings.FUNCTIONS,
    "empty_permuted": permuted.empty_permuted,
    **{f.__name__: f for f in (tril_indices, triu_indices, broadcast_shapes, index_put,
                               index_put_, resize_as_, chain_matmul, einsum, conj, real,
                               imag)}}

#: Functions of namespaces that are no operators, by dotted name: ``"fft.fftfreq"``.
NAMESPACE_FUNCTIONS: dict[str, object] = {**windows.WINDOWS, **fft.NAMESPACE_FUNCTIONS}
