"""Composite operators that move and join."""
from flambeau.core import _core
from flambeau.core.layouts import expect_strided

_op = _core.operators()


def _wrap(dim, ndim, what):
    limit = ndim if ndim > 0 else 1
    if not -limit <= dim < limit:
        raise IndexError(f"{what}(): Dimension out of range: dim={dim} for a tensor of {ndim} "
                         f"dimensions (expected to be in range of [{-limit}, {limit - 1}])")
    return dim + limit if dim < 0 else dim


def masked_fill(x, mask, value):
    if mask.dtype is not _core._dtype_named("bool"):
        raise RuntimeError(f"masked_fill(): mask must be a bool tensor, got {mask.dtype}; write "
                           "mask != 0")
    if isinstance(value, _core.Tensor) and value.ndim > 0:
        raise RuntimeError(f"masked_fill(): value must be a number or a 0-d tensor, got shape "
                           f"{list(value.shape)}")
    if _is_read_as_number(x, value):
        return _op["masked_fill"](x, mask, value.item())
    if isinstance(value, _core.Tensor) and value.is_complex() and not x.is_complex():
        raise RuntimeError(f"masked_fill(): value of dtype {value.dtype} cannot be converted to "
                           f"{x.dtype}, which has no imaginary part; write value.real")
    return _op["where"](mask, _in_dtype_of(x, value), x)


def _is_read_as_number(x, value):
    """Whether a value of another dtype is a constant: as a number it is checked to fit."""
    return (isinstance(value, _core.Tensor) and value.dtype is not x.dtype
            and not value.requires_grad and _core.may_read(value))


def _in_dtype_of(x, value):
    """A number or 0-d tensor that does not change the dtype of what it is written into."""
    if isinstance(value, _core.Tensor):
        return value if value.dtype is x.dtype else _op["cast"](value, x.dtype)
    if x.dtype.name == "bool":
        return bool(value)
    if isinstance(value, complex) and not x.is_complex():
        value = value.real      # its imaginary part is 0, or it would have been refused
    return value if _core.result_type(x, value) is x.dtype else int(value)


def _finish(result, requires_grad):
    _core._as_new(result)   # filling it was part of making it
    return _core.requiring(result, requires_grad) if requires_grad else result


def randint_like__low(x, low, high, generator, dtype, device, requires_grad, memory_format, layout,
                      pin_memory):
    expect_strided("randint_like", layout)
    blank = _op["empty_like"](x, dtype=dtype, device=device, memory_format=memory_format)
    drawn = _op["random_integers_"](blank, low, high, generator=generator)
    return _finish(drawn, requires_grad)


def randint_like(x, high, *options):
    return randint_like__low(x, 0, high, *options)
