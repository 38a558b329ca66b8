"""Embeddings: rows of a table, and bags of them."""
import warnings

from flambeau.core import _core

_op = _core.operators()
_BAG_MODES = {"sum": 0, "mean": 1, "max": 2}


def embedding(indices, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse):
    if padding_idx is None:
        padding_idx = -1
    elif not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise RuntimeError(f"embedding(): padding_idx {padding_idx} must be within the "
                           f"{weight.shape[0]} rows of weight")
    elif padding_idx < 0:
        padding_idx += weight.shape[0]
    if max_norm is not None:
        _shorten_rows(weight, indices, max_norm, norm_type)
    if sparse and weight.requires_grad and _core.is_grad_enabled():
        return _with_sparse_gradient(indices, weight, padding_idx, scale_grad_by_freq)
    return _op["embedding_lookup"](weight, indices, padding_idx, scale_grad_by_freq)


def _with_sparse_gradient(indices, weight, padding_idx, by_frequency):
    """The same rows; the table's gradient holds them alone."""
    from flambeau.sparse._embedding import lookup

    return lookup(weight, indices, padding_idx, by_frequency)


def _shorten_rows(weight, indices, max_norm, norm_type):
    """Scale the rows that are looked up and longer than ``max_norm``, in the table itself."""
    table = weight.detach()
    positions = _op["reshape"](indices, (-1,))
    rows = _op["index_select"](table, 0, positions)
    length = _op["norm"](rows, norm_type, 1, True)
    factor = _op["where"](_op["gt"](length, max_norm),
                          _op["div"](max_norm, _op["add"](length, 1e-7)), 1.0)
    _op["index_put_"](table, [positions], _op["mul"](rows, factor))


def one_hot(x, num_classes):
    if num_classes == -1:
        if x.numel() == 0:
            raise RuntimeError("one_hot(): Can not infer total number of classes from an empty "
                               f"tensor of shape {list(x.shape)}; pass num_classes")
        num_classes = int(_op["amax"](x).item()) + 1
    return _op["one_hot_rows"](x, num_classes)


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
    if sparse and weight.requires_grad and _core.is_grad_enabled():
        weight, indices, padding = _looked_up(weight, indices, padding, scale_grad_by_freq)
        scale_grad_by_freq = False
    return _op["embedding_bag_rows"](weight, indices, offsets, factors, _BAG_MODES[mode],
                                     include_last_offset, padding, scale_grad_by_freq)


def _looked_up(weight, indices, padding, by_frequency):
    """A table of the rows that bags name, in their order, whose gradient is sparse; indices of
    it, and its row of padding, which is the last."""
    rows = _with_sparse_gradient(indices, weight, padding, by_frequency)
    last = _op["empty"]((1, weight.shape[1]), dtype=weight.dtype, device=weight.device)
    count = indices.shape[0]
    order = _op["arange_of"](0, count, 1, dtype=_core._dtype_named("int64"),
                             device=indices.device)
    order = _core.operators()["where"](_op["eq"](indices, padding), count, order)
    return _op["cat"]([rows, _op["fill_"](last, 0)]), order, count


def _check_bag(indices, weight, mode, sparse, by_frequency, factors):
    if mode not in _BAG_MODES:
        raise ValueError(f"embedding_bag(): mode has to be one of sum, mean or max, got {mode!r}")
    if weight.ndim != 2:
        raise ValueError(f"embedding_bag(): weight has to be a 2D Tensor, but got Tensor of "
                         f"dimension {weight.ndim} (shape {list(weight.shape)})")
    if mode == "max" and sparse:
        raise ValueError("embedding_bag(): max mode does not support sparse weights; leave out "
                         "sparse=True")
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
