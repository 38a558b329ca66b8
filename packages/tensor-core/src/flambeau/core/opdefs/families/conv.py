"""Convolution."""
from flambeau.core.opdefs.make import composite, helper

_BOTH = ("function", "nn")
_CONV = "Ints stride=1, Ints padding=0, Ints dilation=1, Int groups=1"
_INPUT = "Tensor input, Tensor weight, Tensor? bias=None"
_CONV_NAMED = "Ints stride=1, Str padding='valid', Ints dilation=1, Int groups=1"
_TRANSPOSE = "Ints stride=1, Ints padding=0, Ints output_padding=0, Int groups=1, Ints dilation=1"
_WINDOW = "Ints kernel_size, Ints dilation=1, Ints padding=0, Ints stride=1"
_WORDS = {1: "one dimension", 2: "two dimensions", 3: "three dimensions"}


def _convolutions(n):
    words = _WORDS[n]
    if n == 1:
        yield composite(f"conv{n}d({_INPUT}, {_CONV})", forms=_BOTH, call=f"conv{n}d",
                        autocast="lower", doc=f"Cross-correlation over {words}.")
    yield composite(f"conv{n}d[padding]({_INPUT}, {_CONV_NAMED})", forms=_BOTH,
                    autocast="lower",
                    doc=f"Cross-correlation over {words}, padded by name: 'same' or 'valid'.")
    yield composite(f"conv_transpose{n}d({_INPUT}, {_TRANSPOSE})", forms=_BOTH,
                    call=f"conv_transpose{n}d", autocast="lower",
                    doc=f"Transposed convolution over {words}: each input spreads the kernel.")


OPDEFS = (
    helper(f"conv2d(Tensor input, Tensor weight, Tensor? bias=None, {_CONV})", forms=_BOTH,
           doc="Two-dimensional cross-correlation.", autocast="lower",
           linear="input * weight + bias", batching="rule", epilogue=True, decomposes=True),
    helper(f"conv2d_input_grad(Tensor grad, Tensor weight, Shape input_size, {_CONV})",
           doc="Gradient of conv2d for its input.", linear="grad * weight", batching="rule",
           decomposes=True),
    helper(f"conv2d_weight_grad(Tensor grad, Tensor input, Shape weight_size, {_CONV})",
           doc="Gradient of conv2d for its weight.", linear="grad * input", batching="rule",
           decomposes=True),
    helper(f"conv3d(Tensor input, Tensor weight, Tensor? bias=None, {_CONV})", forms=_BOTH,
           doc="Three-dimensional cross-correlation.", autocast="lower",
           linear="input * weight + bias", batching="rule", decomposes=True),
    helper(f"conv3d_input_grad(Tensor grad, Tensor weight, Shape input_size, {_CONV})",
           doc="Gradient of conv3d for its input.", linear="grad * weight", batching="rule",
           decomposes=True),
    helper(f"conv3d_weight_grad(Tensor grad, Tensor input, Shape weight_size, {_CONV})",
           doc="Gradient of conv3d for its weight.", linear="grad * input", batching="rule",
           decomposes=True),
    helper("quantized_conv(Tensor input, Tensor weight, Tensor sums, Tensor scales, Tensor? bias, "
           "Ints kernel_size, Ints stride, Ints padding, Ints dilation, Int groups, "
           "Float input_scale, Int input_zero, Float scale, Int zero_point, Bool relu)",
           doc="Cross-correlation of integers of 8 bits over two or three dimensions, whose exact "
               "sums are scaled, rounded and clamped; weights as ``quantized.packing`` lays them "
               "out, and their sums for each output channel.",
           differentiable=False, batching="loop", decomposes=True),
    *_convolutions(1),
    *_convolutions(2),
    *_convolutions(3),
    helper(f"im2col(Tensor self, {_WINDOW})", aliases=("nn.functional.unfold",),
           doc="The windows of images as columns.", linear="self", batching="images",
           decomposes=True),
    helper(f"col2im(Tensor self, Ints output_size, {_WINDOW})", aliases=("nn.functional.fold",),
           doc="Columns added to the positions of their windows in images.", linear="self",
           batching="rule", decomposes=True),
)
