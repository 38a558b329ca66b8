"""Pooling."""
import flambeau
from flambeau.autograd._table import rule
from flambeau.autograd.rules._help import zeros
from flambeau.core import ops

for _name in ("max_pool2d_with_indices", "max_pool2d_compact_indices"):
    rule(_name, self=lambda g, self_shape, result1: ops.max_pool2d_grad(g, result1, self_shape))
rule("max_pool2d_values",
     self=lambda g, self, self_shape, kernel_size, stride, padding, dilation, ceil_mode:
         ops.max_pool2d_grad(g, ops.max_pool2d_compact_indices(
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
rule("adaptive_max", self=lambda g, self_shape, dim, result1:
     zeros(self_shape, g).scatter_add(dim, result1, g))


def _from_planes(g, indices):
    """Pick from each plane the elements that were the maxima."""
    flat = indices.reshape([*indices.shape[:-2], -1]).to(flambeau.int64)
    return g.reshape([*g.shape[:-2], -1]).gather(-1, flat).reshape(indices.shape)
