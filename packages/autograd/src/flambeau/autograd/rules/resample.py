"""Resized images, and images sampled at the points of a grid."""
from flambeau.autograd._engine import needs_grad, run_grad
from flambeau.autograd._table import rule
from flambeau.autograd.rules._compose import vjp_of
from flambeau.autograd.rules._grids import sampled
from flambeau.core import _core, ops

_NEAREST = 1

# ---- sizes: linear maps, whose derivatives are their adjoints ----------------------------------
rule("resample", input=lambda g, input_shape, mode, align_corners, scales:
     ops.resample_grad(g, input_shape[2:], mode, align_corners, scales))
rule("resample_grad", grad=lambda g, grad_shape, mode, align_corners, scales:
     ops.resample(g, grad_shape[2:], mode, align_corners, scales))

# ---- grids -------------------------------------------------------------------------------------
rule("grid_sampler", ("input", "grid"),
     lambda g, input, grid, interpolation_mode, padding_mode, align_corners:
         ops.grid_sampler_grad(g, input, grid, interpolation_mode, padding_mode, align_corners))


def _grid_formula(modes):
    """The gradient of grid_sample, of what the same sampling is in operators."""
    def formula(grad, input, grid):
        input, grid = (x if needs_grad(x) else _core.requiring(x.detach()) for x in (input, grid))
        if modes[0] == _NEAREST:
            return *run_grad([sampled(input, grid, *modes)], [grad], [input], True, True), None
        return run_grad([sampled(input, grid, *modes)], [grad], [input, grid], True, True)
    return formula


rule("grid_sampler_grad", ("grad", "input", "grid"),
     lambda grads, grad, input, grid, interpolation_mode, padding_mode, align_corners, needs:
         vjp_of(_grid_formula((interpolation_mode, padding_mode, align_corners)),
                (grad, input, grid), (grads[0], None) if interpolation_mode == _NEAREST else grads,
                needs))
