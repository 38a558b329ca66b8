"""Convolutions by means of those over planes: one dimension is a plane of height 1, and a
transposed convolution is the gradient of a convolution for its input."""
from flambeau.core import _core
from flambeau.core.composites._windows import SIZES, listed

_op = _core.operators()
_conv2d, _input_grad = _op["conv2d"], _op["conv2d_input_grad"]
_conv3d, _input_grad3 = _op["conv3d"], _op["conv3d_input_grad"]
_squeeze, _unsqueeze = _op["squeeze"], _op["unsqueeze"]


def _flat(name, parameter, values, across):
    """A number for a line as those for a plane of height 1."""
    return [across, *listed(name, parameter, values, 1)]


def _check_ranks(name, x, weight, n):
    """Refuse what is not [batch,] channels and ``n`` dimensions."""
    if x.ndim not in (n + 1, n + 2):
        raise RuntimeError(f"{name}(): input has shape {list(x.shape)}; expected [batch, channels, "
                           f"{SIZES[n]}], or {n + 1} dimensions for a single image")
    if weight.ndim != n + 2:
        raise RuntimeError(f"{name}(): weight has shape {list(weight.shape)}; expected "
                           f"{n + 2} dimensions: two of channels, then {SIZES[n]}")


# ---- convolutions ----------------------------------------------------------------------------
def conv1d(x, weight, bias, stride, padding, dilation, groups):
    _check_ranks("conv1d", x, weight, 1)
    return _squeeze(_conv2d(_unsqueeze(x, -2), _unsqueeze(weight, -2), bias,
                            _flat("conv1d", "stride", stride, 1),
                            _flat("conv1d", "padding", padding, 0),
                            _flat("conv1d", "dilation", dilation, 1), groups), -2)


def conv1d__padding(x, weight, bias, stride, padding, dilation, groups):
    x, amount = _by_name("conv1d", x, weight, stride, padding, dilation, 1)
    return conv1d(x, weight, bias, stride, amount, dilation, groups)


def conv2d__padding(x, weight, bias, stride, padding, dilation, groups):
    x, amount = _by_name("conv2d", x, weight, stride, padding, dilation, 2)
    return _conv2d(x, weight, bias, stride, amount, dilation, groups)


def conv3d__padding(x, weight, bias, stride, padding, dilation, groups):
    x, amount = _by_name("conv3d", x, weight, stride, padding, dilation, 3)
    return _conv3d(x, weight, bias, stride, amount, dilation, groups)


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


# ---- transposed convolutions -----------------------------------------------------------------
def conv_transpose1d(x, weight, bias, stride, padding, output_padding, groups, dilation):
    name = "conv_transpose1d"
    _check_ranks(name, x, weight, 1)
    wide = _transposed(name, _input_grad, _unsqueeze(x, -2), _unsqueeze(weight, -2), bias,
                       _flat(name, "stride", stride, 1), _flat(name, "padding", padding, 0),
                       _flat(name, "output_padding", output_padding, 0), groups,
                       _flat(name, "dilation", dilation, 1))
    return _squeeze(wide, -2)


def conv_transpose2d(x, weight, bias, stride, padding, output_padding, groups, dilation):
    _check_ranks("conv_transpose2d", x, weight, 2)
    return _transposed("conv_transpose2d", _input_grad, x, weight, bias, stride, padding,
                       output_padding, groups, dilation)


def conv_transpose3d(x, weight, bias, stride, padding, output_padding, groups, dilation):
    _check_ranks("conv_transpose3d", x, weight, 3)
    return _transposed("conv_transpose3d", _input_grad3, x, weight, bias, stride, padding,
                       output_padding, groups, dilation)


def _transposed(name, gradient, x, weight, bias, stride, padding, output_padding, groups,
                dilation):
    n = weight.ndim - 2
    stride = _positive(name, "stride", stride, n)
    dilation = _positive(name, "dilation", dilation, n)
    padding = listed(name, "padding", padding, n)
    extra = listed(name, "output_padding", output_padding, n)
    _check_transposed(name, x, weight, bias, groups)
    sizes = []
    for i in range(n):
        if not 0 <= extra[i] < max(stride[i], dilation[i]):
            raise RuntimeError(f"{name}(): output padding must be smaller than either stride or "
                               f"dilation, got output_padding={extra}, stride={stride}, "
                               f"dilation={dilation}")
        reach = dilation[i] * (weight.shape[i + 2] - 1) + 1
        size = (x.shape[i - n] - 1) * stride[i] - 2 * padding[i] + reach + extra[i]
        if size < 1:
            raise RuntimeError(f"{name}(): input of shape {list(x.shape)} with padding {padding} "
                               f"gives {size} outputs in dimension {i - n}; they must be 1 or "
                               "more, choose less padding")
        if extra[i] >= stride[i]:
            x = _with_zeros(x, i - n, extra[i] // stride[i])
        sizes.append(size)
    shape = [*x.shape[:-n - 1], weight.shape[1] * groups, *sizes]
    if bias is None:
        return gradient(x, weight, shape, stride, padding, dilation, groups)
    dtype, wide = x.dtype, x.dtype
    if x.is_floating_point() and dtype.itemsize == 2:      # one rounding, after the bias
        wide = _core._dtype_named("float32")
        x, weight = _op["cast"](x, wide), _op["cast"](weight, wide)
    result = gradient(x, weight, shape, stride, padding, dilation, groups)
    result = _op["add"](result, _op["view"](bias, [-1] + [1] * n))
    return result if wide is dtype else _op["cast"](result, dtype)


def _positive(name, parameter, values, n):
    values = listed(name, parameter, values, n)
    if min(values) < 1:
        raise RuntimeError(f"{name}(): {parameter} is {values}; its numbers must be 1 or more")
    return values


def _check_transposed(name, x, weight, bias, groups):
    """Channels and dtypes; the rest is checked by the gradient."""
    n = weight.ndim - 2
    if groups < 1 or weight.shape[0] % groups or x.shape[-n - 1] != weight.shape[0]:
        raise RuntimeError(f"{name}(): input has shape {list(x.shape)}, weight "
                           f"{list(weight.shape)} and groups={groups}; the input must have "
                           f"weight.shape[0] = {weight.shape[0]} channels, which groups divides")
    if bias is not None and list(bias.shape) != [weight.shape[1] * groups]:
        raise RuntimeError(f"{name}(): bias has shape {list(bias.shape)}; for a weight of shape "
                           f"{list(weight.shape)} and groups={groups} it must be "
                           f"[{weight.shape[1] * groups}]")
    for other in (weight, bias):
        if other is not None and other.dtype is not x.dtype:
            raise RuntimeError(f"{name}(): input is {x.dtype}, but weight or bias is "
                               f"{other.dtype}; all must have the same dtype, convert with .to()")
