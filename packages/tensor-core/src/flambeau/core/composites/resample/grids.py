"""Images and volumes sampled at the points of a grid."""
import warnings

from flambeau.core import _core

_op = _core.operators()
_GRID_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_BORDERS = {"zeros": 0, "border": 1, "reflection": 2}


def grid_sample(x, grid, mode, padding_mode, align_corners):
    if mode not in _GRID_MODES:
        raise ValueError(f"grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
                         f"but got: {mode!r}")
    if padding_mode not in _BORDERS:
        raise ValueError(f"grid_sample(): expected padding_mode to be 'zeros', 'border', or "
                         f"'reflection', but got: {padding_mode!r}")
    align_corners = _stated("grid_sample", align_corners)
    return _op["grid_sampler"](x, grid, _GRID_MODES[mode], _BORDERS[padding_mode], align_corners)


def _stated(what, align_corners):
    if align_corners is None:
        warnings.warn(f"{what}() without align_corners takes align_corners=False; write it",
                      stacklevel=1)
        return False
    return align_corners


def grid_sampler_2d(x, grid, interpolation_mode, padding_mode, align_corners):
    return _sampler_of(4, x, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(x, grid, interpolation_mode, padding_mode, align_corners):
    return _sampler_of(5, x, grid, interpolation_mode, padding_mode, align_corners)


def _sampler_of(ndim, x, grid, interpolation_mode, padding_mode, align_corners):
    if x.ndim != ndim:
        raise RuntimeError(f"grid_sampler_{ndim - 2}d(): expected {ndim}D input, got shape "
                           f"{list(x.shape)}")
    return _op["grid_sampler"](x, grid, interpolation_mode, padding_mode, align_corners)


def affine_grid(theta, size, align_corners):
    if not theta.is_floating_point():
        raise ValueError(f"affine_grid(): Expected theta to have floating point type, but got "
                         f"{theta.dtype}")
    return affine_grid_generator(theta, size, _stated("affine_grid", align_corners))


def affine_grid_generator(theta, size, align_corners):
    axes = len(size) - 2
    if axes not in (2, 3):
        raise NotImplementedError(f"affine_grid(): only 4D and 5D sizes are supported, for 2D and "
                                  f"3D affine transforms, respectively. Got size {list(size)}")
    if min(size) < 1:
        raise ValueError(f"affine_grid(): Expected non-zero, positive output size. Got "
                         f"{list(size)}")
    if tuple(theta.shape) != (size[0], axes, axes + 1):
        raise ValueError(f"affine_grid(): Expected a batch of {axes}D affine matrices of shape "
                         f"{[size[0], axes, axes + 1]} for size {list(size)}. Got "
                         f"{list(theta.shape)}")
    spatial = size[2:]
    if align_corners and min(spatial) == 1:
        warnings.warn("affine_grid(): align_corners=True takes a size of 1 as the centre; versions "
                      "of PyTorch before 1.3 took it as the border. See the documentation of "
                      "affine_grid for details.", stacklevel=1)
    lines = [_op["reshape"](_centres(theta, n, align_corners),
                            [n if d == axis else 1 for d in range(axes)])
             for axis, n in enumerate(spatial)]
    points = [_op["expand"](line, spatial) for line in reversed(lines)]    # x, y, z
    ones = _op["expand"](_op["full_of"]((), 1, dtype=theta.dtype, device=theta.device), spatial)
    base = _op["reshape"](_op["stack"]([*points, ones], -1), (-1, axes + 1))
    moved = _op["matmul"](base, _op["transpose"](theta, 1, 2))
    return _op["reshape"](moved, (size[0], *spatial, axes))


def _centres(theta, n, align_corners):
    """Where the pixels of a line lie between -1 and 1."""
    dtype, device = theta.dtype, theta.device
    if n == 1:
        return _op["full_of"]((1,), 0, dtype=dtype, device=device)
    edge = 1.0 if align_corners else (n - 1) / n
    return _op["linspace"](-edge, edge, n, dtype=dtype, device=device)
