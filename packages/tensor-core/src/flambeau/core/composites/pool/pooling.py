"""Pooling by means of that over planes; the most usual kinds are composites in C++.

A line is a plane of height 1. Windows of blocks are windows of planes, then of what these leave
along the depth: a maximum or a mean of maxima or means is that of all, and the first maximum of
the first plane is the first of the block.
"""
from flambeau.core import _core
from flambeau.core.composites._windows import check_image, listed

_op = _core.operators()
_best_of_planes, _mean_of_planes = _op["max_pool2d_with_indices"], _op["avg_pool2d"]
_squeeze, _unsqueeze, _reshape = _op["squeeze"], _op["unsqueeze"], _op["reshape"]


def _steps(name, stride, size, n):
    """Strides; by default those of windows side by side."""
    return listed(name, "stride", stride, n) if stride else size


# ---- maxima and their places ------------------------------------------------------------------
def max_pool1d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode):
    values, indices = _best_of_planes(*_as_planes(x, kernel_size, stride, padding, dilation),
                                      ceil_mode)
    return _squeeze(values, -2), _squeeze(indices, -2)


def _as_planes(x, kernel_size, stride, padding, dilation):
    """Lines as planes of height 1, with the arguments for these."""
    name = "max_pool1d"
    check_image(name, x, 1)
    size = listed(name, "kernel_size", kernel_size, 1)
    return (_unsqueeze(x, -2), [1, *size], [1, *_steps(name, stride, size, 1)],
            [0, *listed(name, "padding", padding, 1)],
            [1, *listed(name, "dilation", dilation, 1)])


def max_pool3d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode):
    values, planes, depths = _best_of_blocks(x, kernel_size, stride, padding, dilation, ceil_mode)
    return values, _places_in_blocks(x, planes, depths)


def _best_of_blocks(x, kernel_size, stride, padding, dilation, ceil_mode):
    """The maxima, where each plane has its own, and the planes that have those of the blocks."""
    name = "max_pool3d"
    check_image(name, x, 3)
    size = listed(name, "kernel_size", kernel_size, 3)
    steps = _steps(name, stride, size, 3)
    pad = listed(name, "padding", padding, 3)
    taps = listed(name, "dilation", dilation, 3)
    planes, where = _best_of_planes(_blocks(x), size[1:], steps[1:], pad[1:], taps[1:], ceil_mode)
    values, depths = _best_of_planes(_towers(planes), [size[0], 1], [steps[0], 1], [pad[0], 0],
                                     [taps[0], 1], ceil_mode)
    shape = [*x.shape[:-3], values.shape[-2], *planes.shape[-2:]]
    return _reshape(values, shape), _towers(where), _reshape(depths, shape)


def _blocks(x):
    """[batch times channels, depth, height, width]"""
    count = 1
    for n in x.shape[:-3]:
        count *= n
    return _reshape(x, [count, *x.shape[-3:]])


def _towers(planes):
    """Planes over each other as one plane, whose columns go through the depth."""
    shape = planes.shape
    return _reshape(planes, [shape[0], 1, shape[1], shape[2] * shape[3]])


def _places_in_blocks(x, planes, depths):
    """Flat places in the block, from those in the planes and the choice of planes."""
    area = planes.shape[-1]
    flat = _reshape(depths, [planes.shape[0], depths.shape[-3] * area])
    inside = _op["gather"](_reshape(planes, [planes.shape[0], planes.shape[2] * area]), 1, flat)
    whole = _op["mul"](_op["floor_divide"](flat, area), x.shape[-2] * x.shape[-1])
    return _reshape(_op["add"](inside, whole), depths.shape)


# ---- means -----------------------------------------------------------------------------------
def avg_pool3d(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    """Of integers; means of floating numbers are computed in C++."""
    name = "avg_pool3d"
    check_image(name, x, 3)
    sums = _mean_of_blocks(name, x, kernel_size, stride, padding, ceil_mode, True, 1)
    if divisor_override is not None:
        return _op["div"](sums, divisor_override, rounding_mode="trunc")
    ones = _op["full_of"]([1, *x.shape[-3:]], 1.0, device=x.device)
    means = _mean_of_blocks(name, ones, kernel_size, stride, padding, ceil_mode, True, 1)
    shares = _mean_of_blocks(name, ones, kernel_size, stride, padding, ceil_mode,
                             count_include_pad, None)
    counts = _op["cast"](_op["round"](_op["div"](means, shares)), x.dtype)
    return _op["div"](sums, counts, rounding_mode="trunc")


def _mean_of_blocks(name, x, kernel_size, stride, padding, ceil_mode, include_pad, divisor):
    """Means of planes, then along the depth; a divisor takes the place of the counts of both."""
    size = listed(name, "kernel_size", kernel_size, 3)
    steps = _steps(name, stride, size, 3)
    pad = listed(name, "padding", padding, 3)
    planes = _mean_of_planes(_blocks(x), size[1:], steps[1:], pad[1:], ceil_mode, include_pad,
                             divisor)
    means = _mean_of_planes(_towers(planes), [size[0], 1], [steps[0], 1], [pad[0], 0], ceil_mode,
                            include_pad, None if divisor is None else 1)
    return _reshape(means, [*x.shape[:-3], means.shape[-2], *planes.shape[-2:]])


def lp_pool1d(x, norm_type, kernel_size, stride, ceil_mode):
    size = listed("lp_pool1d", "kernel_size", kernel_size, 1)
    powers = _op["avg_pool1d"](_op["pow"](x, norm_type), size, stride, (0,), ceil_mode, True)
    return _root(powers, norm_type, size)


def lp_pool2d(x, norm_type, kernel_size, stride, ceil_mode):
    size = listed("lp_pool2d", "kernel_size", kernel_size, 2)
    powers = _mean_of_planes(_op["pow"](x, norm_type), size, stride, 0, ceil_mode)
    return _root(powers, norm_type, size)


def lp_pool3d(x, norm_type, kernel_size, stride, ceil_mode):
    size = listed("lp_pool3d", "kernel_size", kernel_size, 3)
    powers = _op["avg_pool3d"](_op["pow"](x, norm_type), size, stride, (0,), ceil_mode, True, None)
    return _root(powers, norm_type, size)


def _root(means, norm_type, size):
    """The root of sums of powers, zero where they are negative."""
    count = 1
    for n in size:
        count *= n
    positive = _op["mul"](_op["sign"](means), _op["relu"](_op["abs"](means)))
    return _op["pow"](_op["mul"](positive, count), 1.0 / norm_type)


# ---- maxima back to their places -------------------------------------------------------------
def max_unpool1d(x, indices, kernel_size, stride, padding, output_size):
    return _unpool("max_unpool1d", 1, x, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(x, indices, kernel_size, stride, padding, output_size):
    return _unpool("max_unpool2d", 2, x, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(x, indices, kernel_size, stride, padding, output_size):
    return _unpool("max_unpool3d", 3, x, indices, kernel_size, stride, padding, output_size)


def _unpool(name, n, x, indices, kernel_size, stride, padding, output_size):
    check_image(name, x, n)
    if list(x.shape) != list(indices.shape) or indices.dtype.name != "int64":
        raise RuntimeError(f"{name}(): input has shape {list(x.shape)}, indices {indices.dtype} of "
                           f"shape {list(indices.shape)}; indices must be int64 and of the same "
                           "shape")
    size = listed(name, "kernel_size", kernel_size, n)
    sizes = _unpooled(name, x, size, _steps(name, stride, size, n),
                      listed(name, "padding", padding, n), output_size)
    area = 1
    for length in sizes:
        area *= length
    if area < 1 or min(sizes) < 1:
        raise RuntimeError(f"{name}(): the output would have sizes {sizes}; they must be 1 or more")
    lead = list(x.shape[:-n])
    zeros = _op["full_of"]([*lead, area], 0, dtype=x.dtype, device=x.device)
    whole = _op["scatter"](zeros, -1, _reshape(indices, [*lead, -1] if x.numel() else [*lead, 0]),
                           _reshape(x, [*lead, -1] if x.numel() else [*lead, 0]))
    return _reshape(whole, [*lead, *sizes])


def _unpooled(name, x, size, steps, pad, output_size):
    """Sizes before the pooling: those wanted, which must be near the ones computed."""
    n = len(size)
    usual = [(length - 1) * s - 2 * p + k for length, s, p, k in
             zip(x.shape[-n:], steps, pad, size, strict=True)]
    if output_size is None:
        return usual
    wanted = list(output_size)[-n:] if len(output_size) in (n, n + 2) else None
    if wanted is None or any(abs(w - u) >= s for w, u, s in
                              zip(wanted, usual, steps, strict=True)):
        raise ValueError(f"{name}(): output_size {list(output_size)} is not possible: expected "
                         f"{n} sizes that differ from {usual} by less than the stride {steps}")
    return wanted
