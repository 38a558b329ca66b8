"""Convolution, pooling, embedding, losses."""
import flambeau
from flambeau.autograd._table import rule
from flambeau.autograd.rules._help import conj
from flambeau.core import ops

# ---- convolution -------------------------------------------------------------------------------
rule("conv2d",
     input=lambda g, weight, input_shape, stride, padding, dilation, groups:
         ops.conv2d_input_grad(g, conj(weight), input_shape, stride, padding, dilation, groups),
     weight=lambda g, input, weight_shape, stride, padding, dilation, groups:
         ops.conv2d_weight_grad(g, conj(input), weight_shape, stride, padding, dilation, groups),
     bias=lambda g: g.sum((-2, -1)) if g.ndim == 3 else g.sum((0, 2, 3)))
rule("conv2d_input_grad",
     grad=lambda g, weight, stride, padding, dilation, groups:
         ops.conv2d(g, conj(weight), None, stride, padding, dilation, groups),
     weight=lambda g, grad, weight_shape, stride, padding, dilation, groups:
         ops.conv2d_weight_grad(conj(grad), g, weight_shape, stride, padding, dilation, groups))
rule("conv2d_weight_grad",
     grad=lambda g, input, stride, padding, dilation, groups:
         ops.conv2d(conj(input), g, None, stride, padding, dilation, groups),
     input=lambda g, grad, input_shape, stride, padding, dilation, groups:
         ops.conv2d_input_grad(conj(grad), g, input_shape, stride, padding, dilation, groups))

# ---- pooling -----------------------------------------------------------------------------------
rule("max_pool2d_with_indices", self=lambda g, self_shape, result1:
     ops.max_pool2d_grad(g, result1, self_shape))
rule("max_pool2d_grad", grad=lambda g, indices: _from_planes(g, indices))
rule("avg_pool2d",
     self=lambda g, self_shape, kernel_size, stride, padding, ceil_mode, count_include_pad,
     divisor_override:
         ops.avg_pool2d_grad(g, self_shape, kernel_size, stride, padding, ceil_mode,
                             count_include_pad, divisor_override))
rule("avg_pool2d_grad",
     grad=lambda g, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override:
         ops.avg_pool2d(g, kernel_size, stride, padding, ceil_mode, count_include_pad,
                        divisor_override))


def _from_planes(g, indices):
    """Pick from each plane the elements that were the maxima."""
    flat = indices.reshape([*indices.shape[:-2], -1])
    return g.reshape([*g.shape[:-2], -1]).gather(-1, flat).reshape(indices.shape)


# ---- embedding ---------------------------------------------------------------------------------
rule("embedding_lookup", weight=lambda g, weight_shape, indices, padding_idx, scale_grad_by_freq:
     ops.embedding_grad(g / _times_looked_up(indices, weight_shape[0]) if scale_grad_by_freq else g,
                        indices, weight_shape[0], padding_idx))
rule("embedding_grad", grad=lambda g, indices, padding_idx:
     _lookup(g, indices, padding_idx))


def _lookup(g, indices, padding_idx):
    rows = ops.embedding_lookup(g, indices)
    if padding_idx < 0:
        return rows
    return ops.where((indices == padding_idx).unsqueeze(-1), 0, rows)


def _times_looked_up(indices, rows):
    """For each index, how often it occurs; a last dimension of 1 is added."""
    places = indices.reshape(-1)
    ones = ops.ones_like(places, dtype=flambeau.int64)
    counts = ops.full_of((rows,), 0, dtype=flambeau.int64, device=indices.device)
    return counts.index_add(0, places, ones)[indices].unsqueeze(-1)


# ---- losses ------------------------------------------------------------------------------------
rule("binary_cross_entropy_terms",
     self=lambda g, self, target: g * (self - target) / (self * (1 - self)).clamp_min(1e-12),
     target=lambda g, self: g * ((-self).log1p().clamp_min(-100) - self.log().clamp_min(-100)))
rule("nll_loss_rows", self=lambda g, self, target, weight, reduction, ignore_index, result1:
     ops.nll_loss_grad(g, self, target, weight, reduction, ignore_index, result1))
rule("nll_loss_grad", grad=lambda g, target, weight, reduction, ignore_index:
     ops.nll_loss_rows(g, target, weight, reduction, ignore_index)[0])
