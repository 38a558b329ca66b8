"""Convolution, and windows as columns."""
from flambeau.autograd._table import rule
from flambeau.autograd.rules._help import conj
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

# ---- windows as columns, and columns added to their positions-----------------------------------
rule("im2col", self=lambda g, self_shape, kernel_size, dilation, padding, stride:
     ops.col2im(g, self_shape[-2:], kernel_size, dilation, padding, stride))
rule("col2im", self=lambda g, kernel_size, dilation, padding, stride:
     ops.im2col(g, kernel_size, dilation, padding, stride))
