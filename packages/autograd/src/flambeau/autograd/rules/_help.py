"""Small functions that the rules share."""
from math import prod

from flambeau.autograd._engine import conj, missing_derivative, reshaped, spread, sum_to_shape
from flambeau.autograd.transforms.stack import STATE, is_differentiated, zeros_at_levels
from flambeau.core import Tensor, _core, ops

__all__ = ["conj", "count_of", "full_shape", "is_differentiated", "is_tensor",
           "matrix_transpose", "normal_dims", "not_implemented", "reshaped", "scaled",
           "spread", "sum_to_shape", "unreduced", "zeros", "zeros_like"]


def not_implemented(name, argument=None):
    """The rule of an input whose derivative nobody has written: zeros would be wrong.

    Without an argument no output has one; with it, the operator's other rules say which have.
    """
    def refuse_all(grads):
        raise NotImplementedError(missing_derivative(name))

    def refuse(g):
        raise NotImplementedError(missing_derivative(name, argument))
    return refuse if argument else refuse_all


def is_tensor(value):
    """Whether an operand is a tensor, not a number."""
    return isinstance(value, Tensor)


def scaled(g, factor):
    """``g * conj(factor)`` without a pass over ``g`` when the factor is 1."""
    if factor == 1:
        return g
    return -g if factor == -1 else g * conj(factor)


def zeros(shape, like):
    """Zeros of a shape, with the dtype and device of ``like``."""
    if STATE.depth:
        return zeros_at_levels(shape, like)
    if _core.is_dispatched(like):
        return like.new_zeros(shape)
    return ops.full_of(shape, 0, dtype=like.dtype, device=like.device)


def zeros_like(t):
    """Zeros of the shape, dtype and device of ``t``."""
    return zeros(t.shape, t)


def normal_dims(dim, ndim):
    """Dims as a sorted list of numbers from 0; None and [] mean all."""
    if dim is None or dim == () or dim == []:
        return list(range(ndim))
    dims = dim if isinstance(dim, (tuple, list)) else (dim,)
    return sorted([d % max(ndim, 1) for d in dims])


def full_shape(shape, dim):
    """The shape after a reduction with ``keepdim=True``."""
    dims = normal_dims(dim, len(shape))
    return tuple([1 if i in dims else n for i, n in enumerate(shape)])


def unreduced(t, shape, dim, keepdim):
    """Undo the loss of dimensions: ``t`` with size 1 where a reduction reduced ``shape``."""
    return t if keepdim or not shape else t.reshape(full_shape(shape, dim))


def count_of(shape, dim):
    """How many elements a reduction reduces into one."""
    return prod([shape[d] for d in normal_dims(dim, len(shape))]) if shape else 1


def matrix_transpose(t):
    """The last two dimensions swapped, and conjugated."""
    return conj(t.transpose(-2, -1))
