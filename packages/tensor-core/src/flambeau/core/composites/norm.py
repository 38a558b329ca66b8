"""Composite operators of normalization."""
from flambeau.core import _core

_op = _core.operators()


def instance_norm(x, running_mean, running_var, weight, bias, use_input_stats, momentum, eps):
    if x.ndim < 2:
        raise ValueError(f"instance_norm(): expected [batch, channels, ...], got {list(x.shape)}")
    batch, channels = x.shape[:2]
    if use_input_stats:
        spatial = x.numel() // max(batch * channels, 1)
        if x.numel() and spatial == 1:
            raise ValueError("instance_norm(): Expected more than 1 spatial element when training, "
                             f"got input size {list(x.shape)}")
    if not use_input_stats or running_mean is not None or running_var is not None:
        return _instance_norm_tracked(x, running_mean, running_var, weight, bias, use_input_stats,
                                      momentum, eps)
    return _op["native_group_norm"](x, weight, bias, max(channels, 1), eps)[0]


def _instance_norm_tracked(x, running_mean, running_var, weight, bias, use_input_stats, momentum,
                           eps):
    """Batch normalization with each channel of each instance as a channel of its own."""
    batch, channels = x.shape[:2]
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("instance_norm(): Expected running_mean and running_var to be defined "
                           "when use_input_stats is false")
    flat = _op["reshape"](x, (1, batch * channels, *x.shape[2:]))
    kept = [running_mean, running_var]
    wide = [None if t is None else _op["repeat"](t, (batch,)) for t in kept]
    result = _op["native_batch_norm"](flat, _repeated(weight, batch), _repeated(bias, batch),
                                      *wide, use_input_stats, momentum, eps)[0]
    if use_input_stats and batch:
        for t, moved in zip(kept, wide, strict=True):
            if t is not None:
                _op["mean"](_op["view"](moved, (batch, channels)), 0, out=t.detach())
    return _op["view"](result, x.shape)


def _repeated(t, times):
    return None if t is None else _op["repeat"](t, (times,))


def local_response_norm(x, size, alpha, beta, k):
    if x.ndim < 3:
        raise ValueError(f"local_response_norm(): Expected 3D or higher dimensionality input (got "
                         f"{x.ndim} dimensions, shape {list(x.shape)})")
    if size < 1:
        raise RuntimeError(f"local_response_norm(): size must be at least 1, got {size}")
    if x.numel() == 0:
        return x
    power = _op["square"](x)
    edges = [_no_channels(x, n) for n in (size // 2, (size - 1) // 2)]
    power = _op["cat"]([edges[0], power, edges[1]], 1)
    windows = _op["unfold"](power, 1, size, 1)
    if x.is_floating_point() or x.is_complex():
        mean = _op["mean"](windows, -1)
    else:
        mean = _op["floor_divide"](_op["sum"](windows, -1), size)
    return _op["div"](x, _op["pow"](_op["add"](_op["mul"](mean, alpha), k), beta))


def _no_channels(x, channels):
    """Zeros of another number of channels."""
    return _op["full_of"]((x.shape[0], channels, *x.shape[2:]), 0, dtype=x.dtype, device=x.device)
