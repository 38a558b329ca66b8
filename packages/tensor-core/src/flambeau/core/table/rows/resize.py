"""Images and volumes in other sizes."""
from flambeau.core.table.make import composite, kernel

_NN = ("nn",)
_MODE = "Str mode, Bool align_corners=False, Floats? scales=None"
_SIZE = "Ints? size=None, Object scale_factor=None"

ROWS = (
    kernel(f"resample(Tensor input, Shape size, {_MODE})", forms=(), out=False,
           doc="Resampled along the dimensions after the second."),
    kernel(f"resample_grad(Tensor grad, Shape input_size, {_MODE})", forms=(), out=False,
           doc="Gradient of resample."),
    composite(f"interpolate(Tensor input, {_SIZE}, Str mode='nearest', Bool? align_corners=None,"
              " Bool? recompute_scale_factor=None, Bool antialias=False)", forms=_NN,
              call="interpolate", doc="Images in another size."),
    composite(f"upsample(Tensor input, {_SIZE}, Str mode='nearest', Bool? align_corners=None)",
              forms=_NN, doc="interpolate under its first name."),
    composite(f"upsample_nearest(Tensor input, {_SIZE})", forms=_NN,
              doc="interpolate with ``mode='nearest'``."),
    composite(f"upsample_bilinear(Tensor input, {_SIZE})", forms=_NN,
              doc="interpolate with ``mode='bilinear', align_corners=True``."),
)
