"""Composite rows of neural networks."""
from flambeau.core import _core

_op = _core.operators()


def layer_norm(x, normalized_shape, weight, bias, eps):
    n = len(normalized_shape)
    if n == 0 or tuple(x.shape[-n:]) != tuple(normalized_shape):
        raise RuntimeError(f"layer_norm(): Given normalized_shape={list(normalized_shape)}, "
                           "expected input with shape "
                           f"[*, {', '.join(map(str, normalized_shape))}], "
                           f"but got input of size {list(x.shape)}")
    return _op["native_layer_norm"](x, n, weight, bias, eps)[0]


def batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps):
    if x.ndim == 1 and x.numel() == 0:
        return _op["clone"](x)
    if training and x.ndim >= 2 and x.numel() == x.shape[1] > 0:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size "
                         f"{list(x.shape)}")
    if training and eps <= 0:
        raise ValueError(f"batch_norm(): eps must be positive during training, got {eps}: it keeps "
                         "a channel whose values are all equal from being divided by 0")
    return _op["native_batch_norm"](x, weight, bias, running_mean, running_var, training, momentum,
                                    eps)[0]


def embedding(indices, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse):
    if sparse:
        raise NotImplementedError("embedding(): gradients are dense here; leave out sparse=True, "
                                  "the result is the same")
    if padding_idx is None:
        padding_idx = -1
    elif not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise RuntimeError(f"embedding(): padding_idx {padding_idx} must be within the "
                           f"{weight.shape[0]} rows of weight")
    elif padding_idx < 0:
        padding_idx += weight.shape[0]
    if max_norm is not None:
        _shorten_rows(weight, indices, max_norm, norm_type)
    return _op["embedding_lookup"](weight, indices, padding_idx, scale_grad_by_freq)


def _shorten_rows(weight, indices, max_norm, norm_type):
    """Scale the rows that are looked up and longer than ``max_norm``, in the table itself."""
    table = weight.detach()
    places = _op["reshape"](indices, (-1,))
    rows = _op["index_select"](table, 0, places)
    length = _op["norm"](rows, norm_type, 1, True)
    factor = _op["where"](_op["gt"](length, max_norm),
                          _op["div"](max_norm, _op["add"](length, 1e-7)), 1.0)
    _op["index_put_"](table, [places], _op["mul"](rows, factor))


def one_hot(x, num_classes):
    if num_classes == -1:
        if x.numel() == 0:
            raise RuntimeError("one_hot(): Can not infer total number of classes from an empty "
                               f"tensor of shape {list(x.shape)}; pass num_classes")
        num_classes = int(_op["amax"](x).item()) + 1
    return _op["one_hot_rows"](x, num_classes)


def scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale,
                                 enable_gqa):
    if is_causal and attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention(): Explicit attn_mask should not be set "
                           "when is_causal=True")
    if enable_gqa and key.shape[-3] != query.shape[-3]:
        key, value = _repeat_heads(key, query), _repeat_heads(value, query)
    query, key, value = _same_lead(query, key, value)
    if dropout_p == 0.0:
        return _op["attention"](query, key, value, attn_mask, is_causal, scale)[0]
    return _plain_attention(query, key, value, attn_mask, dropout_p, is_causal, scale)


def _same_lead(*tensors):
    """The tensors with their leading dimensions broadcast to each other."""
    leads = [tuple(t.shape[:-2]) for t in tensors]
    if leads[0] == leads[1] == leads[2] or min([t.ndim for t in tensors]) < 2:
        return tensors
    lead = []
    for i in range(-max([len(sizes) for sizes in leads]), 0):
        sizes = {sizes[i] for sizes in leads if len(sizes) >= -i} - {1}
        if len(sizes) > 1:
            return tensors      # the kernel says what is wrong
        lead.append(sizes.pop() if sizes else 1)
    return [_op["expand"](t, (*lead, *t.shape[-2:])) for t in tensors]


def _repeat_heads(x, query):
    times = query.shape[-3] // x.shape[-3]
    shape = list(x.shape)
    x = _op["expand"](_op["unsqueeze"](x, -3), (*shape[:-2], times, *shape[-2:]))
    return _op["reshape"](x, (*shape[:-3], shape[-3] * times, *shape[-2:]))


def _plain_attention(query, key, value, attn_mask, dropout_p, is_causal, scale):
    """The textbook formula, for dropout on the weights."""
    if scale is None:
        scale = max(query.shape[-1], 1) ** -0.5
    scores = _op["mul"](_op["matmul"](query, _op["transpose"](key, -2, -1)), scale)
    if is_causal:
        ones = _op["fill_"](_op["empty"](scores.shape[-2:], device=query.device), 1)
        attn_mask = _op["ne"](_op["tril"](ones), 0)
    if attn_mask is not None and attn_mask.dtype is _core._dtype_named("bool"):
        scores = _op["where"](attn_mask, scores, float("-inf"))
    elif attn_mask is not None:
        scores = _op["add"](scores, attn_mask)
    weights = _op["dropout"](_op["softmax"](scores, -1), dropout_p, True, False)
    return _op["matmul"](weights, value)
