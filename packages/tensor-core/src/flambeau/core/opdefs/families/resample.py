"""Resizing and sampling of images."""
from flambeau.core.opdefs.make import composite, helper, kernel

_NN = ("nn",)
_MODE = "Str mode, Bool align_corners=False, Floats? scales=None"
_SIZE = "Ints? size=None, Object scale_factor=None"
_GRID = "Int interpolation_mode, Int padding_mode, Bool align_corners"

OPDEFS = (
    kernel(f"resample(Tensor input, Shape size, {_MODE})", forms=(), out=False,
           doc="Resampled along the dimensions after the second.", linear="input",
           batching="samples"),
    kernel(f"resample_grad(Tensor grad, Shape input_size, {_MODE})", forms=(), out=False,
           doc="Gradient of resample.", linear="grad", batching="samples"),
    composite(f"interpolate(Tensor input, {_SIZE}, Str mode='nearest', Bool? align_corners=None,"
              " Bool? recompute_scale_factor=None, Bool antialias=False)", forms=_NN,
              call="interpolate", doc="Images in another size."),
    composite(f"upsample(Tensor input, {_SIZE}, Str mode='nearest', Bool? align_corners=None)",
              forms=_NN, doc="interpolate under its first name."),
    composite(f"upsample_nearest(Tensor input, {_SIZE})", forms=_NN,
              doc="interpolate with ``mode='nearest'``."),
    composite(f"upsample_bilinear(Tensor input, {_SIZE})", forms=_NN,
              doc="interpolate with ``mode='bilinear', align_corners=True``."),
    # ---- grids
    helper(f"grid_sampler(Tensor input, Tensor grid, {_GRID})",
           "The input at the points of a grid.", autocast="float32", jvp="rule",
           batching="samples"),
    helper(f"grid_sampler_grad(Tensor grad, Tensor input, Tensor grid, {_GRID})"
           " -> (Tensor input, Tensor grid)", "Gradients of grid_sampler.", batching="samples"),
    composite(f"grid_sampler_2d(Tensor input, Tensor grid, {_GRID})", forms=("function",),
              doc="Images at the points of a grid, the modes as numbers.", autocast="float32"),
    composite(f"grid_sampler_3d(Tensor input, Tensor grid, {_GRID})", forms=("function",),
              doc="Volumes at the points of a grid, the modes as numbers.", autocast="float32"),
    composite("grid_sample(Tensor input, Tensor grid, Str mode='bilinear',"
              " Str padding_mode='zeros', Bool? align_corners=None)", forms=_NN,
              doc="Images or volumes at the points of a grid from -1 to 1.", autocast="float32"),
    composite("affine_grid_generator(Tensor theta, Shape size, Bool align_corners)",
              forms=("function",), doc="The indices that an affine map sends a grid to."),
    composite("affine_grid(Tensor theta, Shape size, Bool? align_corners=None)", forms=_NN,
              doc="The indices that an affine map sends a grid to."),
)
