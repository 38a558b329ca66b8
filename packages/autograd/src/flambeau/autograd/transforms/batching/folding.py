"""Rows over images: the batch becomes part of the dimension of samples, or of channels."""
from __future__ import annotations

from flambeau.autograd.transforms.batching.basics import (
    align,
    call,
    front,
    fronts,
    roles,
)
from flambeau.autograd.transforms.level import as_tuple
from flambeau.core import Tensor

__all__ = ["FOLD_RULES", "images", "samples"]


def _fold(x):
    """The batch and the dimension after it as one."""
    return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])


def _unfold(x, size, inner):
    return x.reshape(size, inner, *x.shape[1:])


def samples(level, op, args, flags, seen):
    """Fold the batch into the first dimension that the function sees."""
    whole = fronts(level, args, flags)
    count = seen[0].shape[0]
    whole = [_fold(a) if isinstance(a, Tensor) else a for a in whole]
    whole = _with_shapes(op, whole, lambda shape: [level.size * shape[0], *shape[1:]])
    return tuple([_unfold(r, level.size, count) for r in as_tuple(call(op, whole))])


def images(level, op, args, flags, seen, rank=3):
    """The same; where there is a single image, of ``rank`` dimensions, the batch is the stack."""
    if seen[0].ndim > rank:
        return samples(level, op, args, flags, seen)
    whole = fronts(level, args, flags)
    return call(op, _with_shapes(op, whole, lambda shape: [level.size, *shape]))


def _columns(level, op, args, flags, seen):
    return images(level, op, args, flags, seen, rank=2)


def _with_shapes(op, args, change):
    """The sizes of inputs that gradients ask for; those of resample are of planes alone."""
    return [change(list(a)) if name == "input_size" and op.key != "resample_grad" else a
            for a, (name, _) in zip(args, roles(op.key), strict=True)]


# ---- padding, which counts dims from the last --------------------------------------------------
def _pad(level, op, args, flags, seen):
    x, pads = args[0], args[1]
    mirrored = op.key != "constant_pad_nd"
    if not mirrored:
        return call(op, args)
    spatial = len(pads) // 2
    lead = x.shape[:x.ndim - spatial]
    count = 1
    for n in lead:
        count *= n
    rows = x.reshape(1, count, *x.shape[x.ndim - spatial:])
    rest = list(args[2:])
    if op.key == "pad_by_grad":
        rest[-1] = [1, count, *rest[-1][len(rest[-1]) - spatial:]]
    result = call(op, (rows, pads, *rest))
    return result.reshape(*lead, *result.shape[2:])


# ---- convolution -------------------------------------------------------------------------------
def _channels(x):
    """[batch, samples, channels, ...] as [samples, batch * channels, ...]."""
    x = call("transpose", (x, 0, 1))
    return x.reshape(x.shape[0], x.shape[1] * x.shape[2], *x.shape[3:])


def _from_channels(x, size):
    x = x.reshape(x.shape[0], size, x.shape[1] // size, *x.shape[2:])
    return call("transpose", (x, 0, 1))


def _conv(level, op, args, flags, seen):
    x, weight, bias, *rest = args
    single = seen[0].ndim == seen[1].ndim - 1
    if not flags[1]:
        return _conv_shared(level, op, args, flags, single)
    x = front(x, flags[0], level.size)
    x = call("unsqueeze", (x, 1)) if single else x
    if bias is not None:
        bias = front(bias, flags[2], level.size).reshape(-1)
    result = call(op, (_channels(x), _fold(weight), bias, *rest[:3], rest[3] * level.size))
    result = _from_channels(result, level.size)
    return call("squeeze", (result, [1])) if single else result


def _conv_shared(level, op, args, flags, single):
    """One weight for all samples: more images in the stack."""
    x, weight, bias, *rest = args
    x = front(x, flags[0], level.size)
    own_bias = bias if flags[2] else None
    bias = None if flags[2] else bias
    if single:
        result = call(op, (x, weight, bias, *rest))
    else:
        result = _unfold(call(op, (_fold(x), weight, bias, *rest)), level.size, x.shape[1])
    if own_bias is None:
        return result
    spatial = weight.ndim - 2
    own_bias = own_bias.reshape(level.size, *[1] * (not single), -1, *[1] * spatial)
    return call("add", (result, own_bias))


def _conv_input_grad(level, op, args, flags, seen):
    grad, weight, size, *rest = args
    grad = front(grad, flags[0], level.size)
    single = seen[0].ndim == seen[1].ndim - 1
    if not flags[1]:
        if single:
            return call(op, (grad, weight, [level.size, *size], *rest))
        folded_size = [level.size * size[0], *size[1:]]
        result = call(op, (_fold(grad), weight, folded_size, *rest))
        return _unfold(result, level.size, size[0])
    grad = call("unsqueeze", (grad, 1)) if single else grad
    size = [1, *size] if single else size
    whole_size = [size[0], size[1] * level.size, *size[2:]]
    result = call(op, (_channels(grad), _fold(weight), whole_size, *rest[:3],
                       rest[3] * level.size))
    result = _from_channels(result, level.size)
    return call("squeeze", (result, [1])) if single else result


def _conv_weight_grad(level, op, args, flags, seen):
    """Each sample's gradient by itself: groups of channels never mix."""
    grad, x, size, *rest = args
    grad, x = front(grad, flags[0], level.size), front(x, flags[1], level.size)
    if seen[0].ndim == len(size) - 1:
        grad, x = call("unsqueeze", (grad, 1)), call("unsqueeze", (x, 1))
    whole_size = [size[0] * level.size, *size[1:]]
    result = call(op, (_channels(grad), _channels(x), whole_size, *rest[:3],
                       rest[3] * level.size))
    return _unfold(result, level.size, size[0])


# ---- attention: leading dimensions are stacks --------------------------------------------------
def _attention(level, op, args, flags, seen):
    """All tensors with the batch as a further stack; masks broadcast."""
    rank = max([s.ndim for s in seen if isinstance(s, Tensor)])
    names = [name for name, _ in roles(op.key)]
    whole = []
    for name, a, f in zip(names, args, flags, strict=True):
        if isinstance(a, Tensor) and (f or name != "attn_mask"):
            a = front(a, f, level.size)
            a = align(a, rank) if name == "attn_mask" else a
        whole.append(a)
    return call(op, whole)


FOLD_RULES = {
    "col2im": _columns,
    "pad_by": _pad, "pad_by_grad": _pad, "constant_pad_nd": _pad,
    "conv2d": _conv, "conv3d": _conv, "conv2d_input_grad": _conv_input_grad,
    "conv3d_input_grad": _conv_input_grad, "conv2d_weight_grad": _conv_weight_grad,
    "conv3d_weight_grad": _conv_weight_grad, "attention": _attention,
    "attention_grad": _attention,
}
