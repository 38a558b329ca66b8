"""Methods and properties of Tensor that are not definitions of their own."""
from flambeau.core import _core
from flambeau.core.compat import sparse_methods, tensor_methods
from flambeau.core.composites import conversions, tensor_queries
from flambeau.core.composites.creation import new_methods
from flambeau.core.composites.random.integers import EXACT_INTEGERS_BELOW, warn_of_rounding
from flambeau.core.composites.shape import resizing

_op = _core.operators()
Tensor = _core.Tensor


def zero_(self):
    """Set every element to zero."""
    return _op["fill_"](self, 0)


def float_power_(self, exponent):
    """Raise to a power in double precision, which the tensor must have."""
    tensor = isinstance(exponent, Tensor)
    is_complex = self.is_complex() or (exponent.is_complex() if tensor
                                       else isinstance(exponent, complex))
    wide = _core._dtype_named("complex128" if is_complex else "float64")
    if self.dtype is not wide:
        raise RuntimeError(f"float_power_(): the base given to float_power_ has dtype {self.dtype} "
                           f"but the operation's result requires dtype {wide}; write x = "
                           "x.float_power(exponent)")
    return _op["pow_"](self, exponent)


def _bounds(what, low, high, names):
    """Bounds that may have PyTorch's names, of which one is a keyword of Python's."""
    low, high = names.pop("from", low), names.pop("to", high)
    if names:
        raise TypeError(f"{what}() got an unexpected keyword argument '{next(iter(names))}'")
    return low, high


def uniform_(self, low=0.0, high=1.0, *, generator=None, **names):
    """Fill with uniform random numbers from ``low`` to ``high``, in PyTorch ``from`` and ``to``."""
    low, high = _bounds("uniform_", low, high, names)
    parts = _op["view_as_real"](self) if self.is_complex() else self
    _op["random_uniform_"](parts, low, high, generator=generator)
    return self


def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Fill with normal random numbers; ``std`` of complex ones is that of both parts together."""
    if not self.is_complex():
        return _op["random_normal_"](self, mean, std, generator=generator)
    _op["random_normal_"](_op["view_as_real"](self), 0.0, std / 2 ** 0.5, generator=generator)
    return _op["add_"](self, mean) if mean else self


def random_(self, *bounds, low=0, to=None, generator=None, **names):
    """Fill with integers.

    Args:
        bounds: ``to``, or ``low, to``.
        low: The least integer.
        to: One more than the greatest integer; as far as the dtype holds all of them by default.
        generator: The stream to use; the default one when left out.
        names: ``low`` under PyTorch's name, ``from``.
    """
    low, to = _bounds("random_", low, to, names)
    if len(bounds) > 2:
        raise TypeError(f"random_() takes at most 2 positional arguments (low, to), but "
                        f"{len(bounds)} were given")
    if len(bounds) == 1:
        low, to = (low, bounds[0]) if to is None else (bounds[0], to)
    elif bounds:
        low, to = bounds
    if to is None and (low == 0 or not self.dtype.is_floating_point):
        return _op["random_integers_"](self, low, generator=generator)
    if to is None:
        to = EXACT_INTEGERS_BELOW.get(self.dtype.name, (1 << 63) - 1)
    elif self.dtype.is_floating_point:
        warn_of_rounding(low, to, self.dtype)
    return _op["random_integers_"](self, low, to, generator=generator)


def bernoulli_(self, p=0.5, *, generator=None):
    """Fill with ones of probability ``p``, a number or a tensor; zeros elsewhere."""
    if not isinstance(p, Tensor):
        return _op["random_bernoulli_"](self, p, generator=generator)
    ones = _op["bernoulli"](_op["expand"](p, self.shape), generator=generator)
    return _op["copy_"](self, ones)


def _transposed(self):
    if self.ndim <= 2:
        return _op["t"](self)
    return _op["permute"](self, list(range(self.ndim))[::-1])


def _matrix_transposed(self):
    if self.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got "
                           f"{self.ndim}-D tensor.")
    return _op["transpose"](self, -2, -1)


def _adjoint_of_matrix(self):
    if self.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got "
                           f"{self.ndim}-D tensor. Use tensor.mH for stacks of matrices.")
    return _op["adjoint"](self) if self.ndim else self.conj() if self.is_complex() else self


def _adjoint(self):
    return _op["adjoint"](self)


def _in_place_view(name):
    view = _op[name]

    def change(self, *args, **kwargs):
        return _core.become_view(self, view(self, *args, **kwargs), f"{name}_")

    change.__doc__ = f"The tensor itself as {name}() shows it."
    return conversions.as_method(change, f"{name}_")


def real(input):
    """The real parts, as a view of complex numbers; real numbers as they are."""
    return _op["select"](_op["view_as_real"](input), -1, 0) if input.is_complex() else input


def _set_real(self, value):
    real(self)[...] = value


def _set_imag(self, value):
    imag(self)[...] = value


def imag(input):
    """The imaginary parts, as a view of complex numbers."""
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _op["select"](_op["view_as_real"](input), -1, 1)


def conj(input):
    """The complex conjugate; of real numbers the tensor itself.

    Example:
        >>> import flambeau
        >>> flambeau.tensor([1 + 2j]).conj()
        tensor([1.-2.j])
    """
    return _op["conj"](input) if input.is_complex() else input


def where(self, condition, other):
    """The tensor's elements where a condition holds, those of ``other`` elsewhere.

    Args:
        condition: A bool tensor.
        other: A tensor or a number.

    Example:
        >>> import flambeau
        >>> flambeau.tensor([1, 2]).where(flambeau.tensor([True, False]), 0)
        tensor([1, 0])
    """
    return _op["where"](condition, self, other)


def index_put(input, indices, values, accumulate=False):
    """A copy with values written through advanced indexing.

    Args:
        input: The tensor.
        indices: For each dimension an integer tensor or None, or a bool mask for several.
        values: What to write; broadcast to the indexed elements.
        accumulate: Add instead of overwriting.
    """
    mask = None if accumulate else _filled_mask(input, indices, values)
    if mask is not None:
        return _op["masked_fill"](input, mask, values)
    if _beside_single_masks(input, indices) is not input:
        return index_put_(_op["clone"](input), indices, values, accumulate)
    return _op["index_put"](input, _core.spread_indices(input, indices), values, accumulate)


def _filled_mask(input, indices, values):
    """The mask, beside all dimensions, that is the only index of a single value; or None."""
    if len(indices) != 1 or not _is_mask(mask := indices[0]) or \
            not isinstance(values, _core.Tensor) or values.ndim or \
            values.dtype is not input.dtype or mask.shape != input.shape[:mask.ndim] or \
            mask.device != input.device:
        return None
    return mask if mask.ndim == input.ndim else \
        _op["reshape"](mask, (*mask.shape, *(1,) * (input.ndim - mask.ndim)))


def index_put_(input, indices, values, accumulate=False):
    """Writes values through advanced indexing; arguments as for ``index_put``."""
    mask = None if accumulate else _filled_mask(input, indices, values)
    if mask is not None:
        return _op["masked_fill_"](input, mask, values)
    view = _beside_single_masks(input, indices)
    _op["index_put_"](view, _core.spread_indices(view, indices), values, accumulate)
    return input


def _is_mask(index):
    return isinstance(index, _core.Tensor) and index.dtype is _core._dtype_named("bool")


def _beside_single_masks(input, indices):
    """The tensor with a dimension of one element for every mask without dimensions."""
    dim = 0
    for index in indices:
        if _is_mask(index) and not index.ndim:
            input = _op["unsqueeze"](input, dim)
        dim += max(index.ndim, 1) if _is_mask(index) else 1
    return input


def is_conj(self):
    """Whether the conjugate is still to be taken: never, it is computed at once."""
    return False


def is_neg(self):
    """Whether the sign is still to be turned: never, it is computed at once."""
    return False


def is_nonzero(self):
    """Whether the only element is not zero."""
    return bool(self)


def __dir__(self):
    """The names that this tensor answers to."""
    absent = {"volatile"} if self.is_cuda else {"volatile", "__cuda_array_interface__"}
    return sorted(set(object.__dir__(self)) - absent)


ATTRIBUTES = {f.__name__: f for f in (  # type: dict[str, object]
    __dir__, zero_, float_power_, uniform_, normal_, random_, bernoulli_, conj, where, index_put,
    index_put_, is_conj, is_neg, is_nonzero)}
ATTRIBUTES |= conversions.METHODS | tensor_queries.METHODS
ATTRIBUTES |= resizing.METHODS | tensor_methods.METHODS
ATTRIBUTES |= new_methods.METHODS | sparse_methods.METHODS
ATTRIBUTES |= {f"{name}_": _in_place_view(name) for name in (
    "as_strided", "squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze")}
ATTRIBUTES |= {"__cuda_array_interface__": property(_core._cuda_array_interface)}
ATTRIBUTES |= {"T": property(_transposed), "mT": property(_matrix_transposed),
               "H": property(_adjoint_of_matrix), "mH": property(_adjoint),
               "real": property(real, _set_real), "imag": property(imag, _set_imag),
               "__array_priority__": 1000}
