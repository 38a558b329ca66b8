"""Resampled images: linear maps, whose derivatives are their adjoints."""
from flambeau.autograd._table import rule
from flambeau.core import ops

rule("resample", input=lambda g, input_shape, mode, align_corners, scales:
     ops.resample_grad(g, input_shape[2:], mode, align_corners, scales))
rule("resample_grad", grad=lambda g, grad_shape, mode, align_corners, scales:
     ops.resample(g, grad_shape[2:], mode, align_corners, scales))
