"""Power means over windows, and maxima back to where they came from."""
from flambeau.core import _core
from flambeau.core.composites._windows import check_image, listed
from flambeau.core.composites.shape.resizing import format_of

_op = _core.operators()
_reshape = _op["reshape"]


# ---- power means -------------------------------------------------------------------------------
def lp_pool1d(x, norm_type, kernel_size, stride, ceil_mode):
    size = listed("lp_pool1d", "kernel_size", kernel_size, 1)
    powers = _op["avg_pool1d"](_op["pow"](x, norm_type), size, stride, (0,), ceil_mode, True)
    return _root(powers, norm_type, size)


def lp_pool2d(x, norm_type, kernel_size, stride, ceil_mode):
    size = listed("lp_pool2d", "kernel_size", kernel_size, 2)
    powers = _op["avg_pool2d"](_op["pow"](x, norm_type), size, stride, 0, ceil_mode)
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


# ---- maxima back to where they were ------------------------------------------------------------
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
    steps = listed(name, "stride", stride, n) if stride else size
    sizes = _unpooled(name, x, size, steps, listed(name, "padding", padding, n), output_size)
    area = 1
    for length in sizes:
        area *= length
    if area < 1 or min(sizes) < 1:
        raise RuntimeError(f"{name}(): the output would have sizes {sizes}; they must be 1 or more")
    lead = list(x.shape[:-n])
    zeros = _op["full_of"]([*lead, area], 0, dtype=x.dtype, device=x.device)
    whole = _op["scatter"](zeros, -1, _reshape(indices, [*lead, -1] if x.numel() else [*lead, 0]),
                           _reshape(x, [*lead, -1] if x.numel() else [*lead, 0]))
    result, memory_format = _reshape(whole, [*lead, *sizes]), format_of(x)
    if memory_format is None:
        return result
    return _op["contiguous"](result, memory_format=memory_format)


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
