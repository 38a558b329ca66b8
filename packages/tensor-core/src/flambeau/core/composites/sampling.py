"""Composite rows of bags of embeddings, grids and alignment of sequences."""
import warnings

from flambeau.core import _core
from flambeau.core.composites.losses import _code, _reduce
from flambeau.core.composites.network import _shorten_rows

_op = _core.operators()
_BAG_MODES = {"sum": 0, "mean": 1, "max": 2}
_GRID_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_BORDERS = {"zeros": 0, "border": 1, "reflection": 2}


# ---- bags


def embedding_bag(indices, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse,
                  per_sample_weights, include_last_offset, padding_idx):
    if indices.is_floating_point() and weight.dtype.name == "int64":
        warnings.warn("embedding_bag(weight, input) is the order of old versions; write "
                      "embedding_bag(input, weight)", stacklevel=1)
        indices, weight = weight, indices
    return bags(indices, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse,
                per_sample_weights, include_last_offset, padding_idx)[0]


def bags(indices, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse,
         per_sample_weights, include_last_offset, padding_idx):
    """The four results of embedding_bag_rows, its arguments checked."""
    _check_bag(indices, weight, mode, sparse, scale_grad_by_freq, per_sample_weights)
    indices, offsets, factors = _flat_bags(indices, offsets, per_sample_weights)
    padding = _padding_row(weight, padding_idx)
    if max_norm is not None:
        _shorten_rows(weight, indices, max_norm, norm_type)
    return _op["embedding_bag_rows"](weight, indices, offsets, factors, _BAG_MODES[mode],
                                     include_last_offset, padding, scale_grad_by_freq)


def _check_bag(indices, weight, mode, sparse, by_frequency, factors):
    if mode not in _BAG_MODES:
        raise ValueError(f"embedding_bag(): mode has to be one of sum, mean or max, got {mode!r}")
    if weight.ndim != 2:
        raise ValueError(f"embedding_bag(): weight has to be a 2D Tensor, but got Tensor of "
                         f"dimension {weight.ndim} (shape {list(weight.shape)})")
    if sparse:
        raise NotImplementedError("embedding_bag(): gradients are dense here; leave out "
                                  "sparse=True, the result is the same")
    if mode == "max" and by_frequency:
        raise ValueError("embedding_bag(): max mode does not support scaling the gradient by the "
                         "frequency")
    if factors is None:
        return
    if factors.shape != indices.shape:
        raise ValueError(f"embedding_bag(): per_sample_weights has shape {list(factors.shape)}; it "
                         f"must have the same shape as the input, {list(indices.shape)}")
    if factors.dtype is not weight.dtype:
        raise RuntimeError(f"embedding_bag(): expected per_sample_weights to have the dtype of "
                           f"weight, {weight.dtype}, got {factors.dtype}; convert with .to()")
    if mode != "sum":
        raise NotImplementedError(f"embedding_bag(): per_sample_weights is only supported for "
                                  f"mode='sum' (got mode={mode!r})")


def _flat_bags(indices, offsets, factors):
    """Indices of all bags one after the other, and where each bag begins."""
    if indices.ndim == 2:
        if offsets is not None:
            raise ValueError("embedding_bag(): if input is 2D, then offsets has to be None, as "
                             "input is treated is a mini-batch of fixed length sequences; got "
                             f"offsets of shape {list(offsets.shape)}")
        rows, length = indices.shape
        starts = _op["arange_of"](0, rows, 1, dtype=_core._dtype_named("int64"),
                                  device=indices.device)
        flat = None if factors is None else _op["reshape"](factors, (-1,))
        return _op["reshape"](indices, (rows * length,)), _op["mul"](starts, length), flat
    if indices.ndim != 1:
        raise ValueError(f"embedding_bag(): input has to be 1D or 2D Tensor, but got Tensor of "
                         f"dimension {indices.ndim}")
    if offsets is None:
        raise ValueError("embedding_bag(): offsets has to be a 1D Tensor but got None; pass where "
                         "each bag begins, or a 2D input")
    if offsets.ndim != 1:
        raise ValueError(f"embedding_bag(): offsets has to be a 1D Tensor, got shape "
                         f"{list(offsets.shape)}")
    return indices, offsets, factors


def _padding_row(weight, padding_idx):
    if padding_idx is None:
        return -1
    rows = weight.shape[0]
    if not -rows <= padding_idx < rows:
        raise RuntimeError(f"embedding_bag(): padding_idx must be within the number of embeddings, "
                           f"{rows}, got {padding_idx}")
    return padding_idx % rows


# ---- grids


def grid_sample(x, grid, mode, padding_mode, align_corners):
    if mode not in _GRID_MODES:
        raise ValueError(f"grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
                         f"but got: {mode!r}")
    if padding_mode not in _BORDERS:
        raise ValueError(f"grid_sample(): expected padding_mode to be 'zeros', 'border', or "
                         f"'reflection', but got: {padding_mode!r}")
    align_corners = _stated("grid_sample", align_corners)
    return _op["grid_sampler"](x, grid, _GRID_MODES[mode], _BORDERS[padding_mode], align_corners)


def _stated(what, align_corners):
    if align_corners is None:
        warnings.warn(f"{what}() without align_corners takes align_corners=False; write it",
                      stacklevel=1)
        return False
    return align_corners


def grid_sampler_2d(x, grid, interpolation_mode, padding_mode, align_corners):
    return _sampler_of(4, x, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(x, grid, interpolation_mode, padding_mode, align_corners):
    return _sampler_of(5, x, grid, interpolation_mode, padding_mode, align_corners)


def _sampler_of(ndim, x, grid, interpolation_mode, padding_mode, align_corners):
    if x.ndim != ndim:
        raise RuntimeError(f"grid_sampler_{ndim - 2}d(): expected {ndim}D input, got shape "
                           f"{list(x.shape)}")
    return _op["grid_sampler"](x, grid, interpolation_mode, padding_mode, align_corners)


def affine_grid(theta, size, align_corners):
    if not theta.is_floating_point():
        raise ValueError(f"affine_grid(): Expected theta to have floating point type, but got "
                         f"{theta.dtype}")
    return affine_grid_generator(theta, size, _stated("affine_grid", align_corners))


def affine_grid_generator(theta, size, align_corners):
    axes = len(size) - 2
    if axes not in (2, 3):
        raise NotImplementedError(f"affine_grid(): only 4D and 5D sizes are supported, for 2D and "
                                  f"3D affine transforms, respectively. Got size {list(size)}")
    if min(size) < 1:
        raise ValueError(f"affine_grid(): Expected non-zero, positive output size. Got "
                         f"{list(size)}")
    if tuple(theta.shape) != (size[0], axes, axes + 1):
        raise ValueError(f"affine_grid(): Expected a batch of {axes}D affine matrices of shape "
                         f"{[size[0], axes, axes + 1]} for size {list(size)}. Got "
                         f"{list(theta.shape)}")
    spatial = size[2:]
    lines = [_op["reshape"](_centres(theta, n, align_corners),
                            [n if d == axis else 1 for d in range(axes)])
             for axis, n in enumerate(spatial)]
    points = [_op["expand"](line, spatial) for line in reversed(lines)]    # x, y, z
    ones = _op["expand"](_op["full_of"]((), 1, dtype=theta.dtype, device=theta.device), spatial)
    base = _op["reshape"](_op["stack"]([*points, ones], -1), (-1, axes + 1))
    moved = _op["matmul"](base, _op["transpose"](theta, 1, 2))
    return _op["reshape"](moved, (size[0], *spatial, axes))


def _centres(theta, n, align_corners):
    """Where the pixels of a line lie between -1 and 1."""
    dtype, device = theta.dtype, theta.device
    if n == 1:
        return _op["full_of"]((1,), 0, dtype=dtype, device=device)
    edge = 1.0 if align_corners else (n - 1) / n
    return _op["linspace"](-edge, edge, n, dtype=dtype, device=device)


# ---- sequences


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    code = _code("ctc_loss", reduction)
    alone = log_probs.ndim == 2
    if alone:
        log_probs = _op["unsqueeze"](log_probs, 1)
    if log_probs.ndim != 3:
        raise RuntimeError(f"ctc_loss(): log_probs must be [time, batch, classes] or [time, "
                           f"classes], got shape {list(log_probs.shape)}")
    inputs, wanted = _lengths(log_probs, input_lengths), _lengths(log_probs, target_lengths)
    if targets.is_floating_point():
        raise RuntimeError(f"ctc_loss(): targets must be whole numbers, got {targets.dtype}")
    loss = _op["ctc_loss_rows"](log_probs, targets, inputs, wanted, blank)
    if zero_infinity:
        loss = _op["where"](_op["isinf"](loss), 0, loss)
    if code == 1:
        return _op["mean"](_op["div"](loss, _op["clamp_min"](wanted, 1).to(loss.dtype)))
    loss = _reduce("ctc_loss", loss, reduction)
    return _op["reshape"](loss, ()) if alone else loss


def _lengths(log_probs, lengths):
    """A tensor of one length for each item of the batch."""
    int64 = _core._dtype_named("int64")
    if not isinstance(lengths, _core.Tensor):
        lengths = _core.tensor(lengths, dtype=int64, device=log_probs.device)
    if lengths.is_floating_point() or lengths.dtype.name == "bool":
        raise RuntimeError(f"ctc_loss(): lengths must be integral, got {lengths.dtype}")
    return _op["reshape"](lengths.to(int64), (-1,))
