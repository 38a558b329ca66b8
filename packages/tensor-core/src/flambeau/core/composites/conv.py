"""Convolutions with padding by name. Those along lines and transposed ones are in C++."""
from flambeau.core import _core
from flambeau.core.composites._windows import SIZES, listed

_op = _core.operators()


def _check_ranks(name, x, weight, n):
    """Refuse what is not [batch,] channels and ``n`` dimensions."""
    if x.ndim not in (n + 1, n + 2):
        raise RuntimeError(f"{name}(): input has shape {list(x.shape)}; expected [batch, channels, "
                           f"{SIZES[n]}], or {n + 1} dimensions for a single image")
    if weight.ndim != n + 2:
        raise RuntimeError(f"{name}(): weight has shape {list(weight.shape)}; expected "
                           f"{n + 2} dimensions: two of channels, then {SIZES[n]}")


def conv1d__padding(x, weight, bias, stride, padding, dilation, groups):
    x, amount = _by_name("conv1d", x, weight, stride, padding, dilation, 1)
    return _op["conv1d"](x, weight, bias, stride, amount, dilation, groups)


def conv2d__padding(x, weight, bias, stride, padding, dilation, groups):
    x, amount = _by_name("conv2d", x, weight, stride, padding, dilation, 2)
    return _op["conv2d"](x, weight, bias, stride, amount, dilation, groups)


def conv3d__padding(x, weight, bias, stride, padding, dilation, groups):
    x, amount = _by_name("conv3d", x, weight, stride, padding, dilation, 3)
    return _op["conv3d"](x, weight, bias, stride, amount, dilation, groups)


def _by_name(name, x, weight, stride, padding, dilation, n):
    """The input and the padding on both sides; where a side needs one zero more, the input has
    it already."""
    _check_ranks(name, x, weight, n)
    if padding == "valid":
        return x, [0] * n
    if padding != "same":
        raise RuntimeError(f"{name}(): padding is {padding!r}; it must be a number, numbers, "
                           "'same' or 'valid'")
    if any(s != 1 for s in stride):
        raise RuntimeError(f"{name}(): padding='same' is not supported for strided convolutions, "
                           f"got stride={list(stride)}")
    amounts = []
    for i, d in enumerate(listed(name, "dilation", dilation, n)):
        total = d * (weight.shape[i + 2] - 1)
        if total % 2:
            x = _with_zeros(x, i - n, 1)
        amounts.append(total // 2)
    return x, amounts


def _with_zeros(x, dim, count):
    """Zeros behind the end of a dimension."""
    shape = list(x.shape)
    shape[dim] = count
    zeros = _op["full_of"](shape, 0, dtype=x.dtype, device=x.device)
    return _op["cat"]([x, zeros], dim)
