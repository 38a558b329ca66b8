"""Convolution, pooling, embedding, losses."""
import flambeau
from flambeau.autograd._table import rule
from flambeau.autograd.rules._help import conj, not_implemented, zeros
from flambeau.core import ops


# ---- convolution -------------------------------------------------------------------------------
def _convolution(name, dims):
    """The rules of a convolution over ``dims`` dimensions and of its two gradients, which are
    convolutions too."""
    keys = name, f"{name}_input_grad", f"{name}_weight_grad"
    forward, by_input, by_weight = [getattr(ops, key) for key in keys]
    rest = tuple(range(-dims, 0))
    rule(keys[0],
         input=lambda g, weight, input_shape, stride, padding, dilation, groups:
             by_input(g, conj(weight), input_shape, stride, padding, dilation, groups),
         weight=lambda g, input, weight_shape, stride, padding, dilation, groups:
             by_weight(g, conj(input), weight_shape, stride, padding, dilation, groups),
         bias=lambda g: g.sum(rest if g.ndim == dims + 1 else (0, *rest)))
    rule(keys[1],
         grad=lambda g, weight, stride, padding, dilation, groups:
             forward(g, conj(weight), None, stride, padding, dilation, groups),
         weight=lambda g, grad, weight_shape, stride, padding, dilation, groups:
             by_weight(conj(grad), g, weight_shape, stride, padding, dilation, groups))
    rule(keys[2],
         grad=lambda g, input, stride, padding, dilation, groups:
             forward(conj(input), g, None, stride, padding, dilation, groups),
         input=lambda g, grad, input_shape, stride, padding, dilation, groups:
             by_input(conj(grad), g, input_shape, stride, padding, dilation, groups))


_convolution("conv2d", 2)
_convolution("conv3d", 3)

# ---- windows as columns, and columns added to their places -------------------------------------
rule("im2col", self=lambda g, self_shape, kernel_size, dilation, padding, stride:
     ops.col2im(g, self_shape[-2:], kernel_size, dilation, padding, stride))
rule("col2im", self=lambda g, kernel_size, dilation, padding, stride:
     ops.im2col(g, kernel_size, dilation, padding, stride))

# ---- pooling -----------------------------------------------------------------------------------
for _name in ("max_pool2d_with_indices", "max_pool2d_places"):
    rule(_name, self=lambda g, self_shape, result1: ops.max_pool2d_grad(g, result1, self_shape))
rule("max_pool2d_values",
     self=lambda g, self, self_shape, kernel_size, stride, padding, dilation, ceil_mode:
         ops.max_pool2d_grad(g, ops.max_pool2d_places(
             self, kernel_size, stride, padding, dilation, ceil_mode)[1], self_shape))
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
rule("adaptive_mean", self=lambda g, self_shape, dim:
     ops.adaptive_mean_grad(g, dim, self_shape[dim]))
rule("adaptive_mean_grad", grad=lambda g, grad_shape, dim:
     ops.adaptive_mean(g, dim, grad_shape[dim]))
rule("adaptive_best", self=lambda g, self_shape, dim, result1:
     zeros(self_shape, g).scatter_add(dim, result1, g))


def _from_planes(g, indices):
    """Pick from each plane the elements that were the maxima."""
    flat = indices.reshape([*indices.shape[:-2], -1]).to(flambeau.int64)
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
rule("nll_loss_rows", weight=not_implemented("nll_loss", "weight"),
     self=lambda g, self, target, weight, reduction, ignore_index, result1:
         ops.nll_loss_grad(g, self, target, weight, reduction, ignore_index, result1))
rule("nll_loss_grad", grad=lambda g, target, weight, reduction, ignore_index:
     ops.nll_loss_rows(g, target, weight, reduction, ignore_index)[0])
