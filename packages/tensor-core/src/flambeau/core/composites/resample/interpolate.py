"""Composite operators of images in other sizes."""
import operator
import warnings

from flambeau.core import _core

_op = _core.operators()
#: What the kernel calls a mode, and the spatial dimensions it is for (0: any).
_MODES = {"nearest": ("nearest", 0), "nearest-exact": ("nearest-exact", 0), "area": ("area", 0),
          "linear": ("linear", 1), "bilinear": ("linear", 2), "trilinear": ("linear", 3),
          "bicubic": ("cubic", 2), "lanczos": ("lanczos", 2)}
_SMOOTH = {"bilinear": "smooth-linear", "bicubic": "smooth-cubic", "lanczos": "smooth-lanczos"}


def interpolate(x, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias):
    kind = _kernel_mode(x, mode, align_corners, antialias)
    sizes, scales = _sizes(x, size, scale_factor, mode == "area" or recompute_scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("interpolate(): recompute_scale_factor is not meaningful with an explicit "
                         "size; leave it out")
    if x.dtype.name == "uint8":
        return _bytes_resampled(x, sizes, kind, bool(align_corners), scales)
    return _op["resample"](x, sizes, kind, bool(align_corners), scales)


def _bytes_resampled(x, sizes, kind, align_corners, scales):
    """Bytes in another size. Smooth planes go first along their rows, are rounded, and then along
    their columns, as PyTorch's kernels do; everything else is rounded once."""
    if x.ndim == 4 and kind not in ("nearest", "nearest-exact", "area"):
        kind = "bytes-" + kind
        across = scales and [1.0, scales[1]]
        x = _rounded_resample(x, [x.shape[2], sizes[1]], kind, align_corners, across)
        scales = scales and [scales[0], 1.0]
    return _rounded_resample(x, sizes, kind, align_corners, scales)


def _rounded_resample(x, sizes, kind, align_corners, scales):
    wide = _op["resample"](x.float(), sizes, kind, align_corners, scales)
    return _op["clamp"](_op["floor"](_op["add"](wide, 0.5)), 0, 255).to(x.dtype)


def _kernel_mode(x, mode, align_corners, antialias):
    if mode not in _MODES:
        raise NotImplementedError(f"interpolate(): unknown mode (got {mode}); it is one of "
                                  f"{', '.join(_MODES)}")
    if not 3 <= x.ndim <= 5:
        raise NotImplementedError(f"interpolate(): Input Error: Only 3D, 4D and 5D input Tensors "
                                  f"supported (got {x.ndim}D, shape {list(x.shape)}); add "
                                  "dimensions of size 1 with x[None]")
    kind, axes = _MODES[mode]
    if axes and x.ndim != axes + 2:
        raise NotImplementedError(f"interpolate(): Got {x.ndim}D input, but {mode} mode needs "
                                  f"{axes + 2}D input")
    if mode in ("nearest", "nearest-exact", "area") and align_corners is not None:
        raise ValueError(f"interpolate(): align_corners option can only be set with the "
                         f"interpolating modes: linear | bilinear | bicubic | trilinear, not with "
                         f"{mode}")
    if antialias and mode not in _SMOOTH:
        raise ValueError(f"interpolate(): Anti-alias option is restricted to bilinear, bicubic, "
                         f"and lanczos modes and requires a 4-D tensor as input, got {mode}")
    if mode == "lanczos" and (align_corners or not antialias):
        raise ValueError("interpolate(): Lanczos mode requires antialias=True and does not support "
                         "align_corners=True")
    return _SMOOTH[mode] if antialias else kind


def _sizes(x, size, scale_factor, recompute):
    """Wanted sizes, and the factors where they decide on the positions."""
    axes = x.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate(): either size or scale_factor should be defined"
                         if size is None else
                         "interpolate(): only one of size or scale_factor should be defined")
    if size is not None:
        return _one_each(x, "size", list(size) * axes if len(size) == 1 else size), None
    several = isinstance(scale_factor, (list, tuple))
    factors = list(scale_factor) if several else [scale_factor] * axes
    if any(isinstance(f, str) for f in factors):
        raise TypeError(f"interpolate(): scale_factor is a number or one for each spatial "
                        f"dimension, not {scale_factor!r}")
    factors = _one_each(x, "scale_factor", factors)
    if recompute and all(isinstance(f, _core.Tensor) for f in factors):
        scaled = [_op["mul"](f.double(), n) for n, f in zip(x.shape[2:], factors, strict=True)]
        return [operator.index(_op["trunc"](size).long()) for size in scaled], None
    factors = [f if isinstance(f, float) else float(f) for f in factors]
    if not all(0 < f < float("inf") for f in factors):
        raise RuntimeError(f"interpolate(): scale factors must be positive, got {factors}")
    if any(n * f >= 2 ** 31 for n, f in zip(x.shape[2:], factors, strict=True)):
        raise ValueError(f"interpolate(): an input of shape {list(x.shape)} does not fit enlarged "
                         f"by {factors}")
    sizes = [int(n * f) for n, f in zip(x.shape[2:], factors, strict=True)]
    return sizes, None if recompute else factors


def _one_each(x, name, values):
    if len(values) != x.ndim - 2:
        raise ValueError(f"interpolate(): Input and {name} must have the same number of spatial "
                         f"dimensions, but got input with spatial dimensions of "
                         f"{list(x.shape[2:])} and {name} {list(values)}")
    return values


def _renamed(what, instead):
    warnings.warn(f"{what}() is deprecated; write {instead}", stacklevel=1)


def upsample(x, size, scale_factor, mode, align_corners):
    _renamed("upsample", "interpolate() with the same arguments")
    return interpolate(x, size, scale_factor, mode, align_corners, None, False)


def upsample_nearest(x, size, scale_factor):
    _renamed("upsample_nearest", "interpolate(..., mode='nearest')")
    return interpolate(x, size, scale_factor, "nearest", None, None, False)


def upsample_bilinear(x, size, scale_factor):
    _renamed("upsample_bilinear", "interpolate(..., mode='bilinear', align_corners=True)")
    return interpolate(x, size, scale_factor, "bilinear", True, None, False)
