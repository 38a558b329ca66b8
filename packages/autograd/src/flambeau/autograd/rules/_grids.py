"""grid_sample in operators that can be differentiated any number of times.

Only higher derivatives run this: sampling itself and its gradient are kernels.
"""
from flambeau.core import ops

_BILINEAR, _NEAREST, _CUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)
_SHARPNESS = -0.75      # of the cubic kernel


def sampled(input, grid, mode, padding, align):
    """The input [n, c, ...] at the points of a grid, as ``ops.grid_sampler`` gives it."""
    sizes, positions = input.shape[2:], grid.shape[1:-1]
    batch, channels = input.shape[:2]
    taps: list = []
    for axis, size in enumerate(sizes):
        point = grid.select(-1, len(sizes) - 1 - axis).reshape(batch, -1)
        own = _taps(point, size, mode, padding, align)
        taps = [_times(before, tap, size) for before in taps for tap in own] if taps else own
    flat = input.reshape(batch, channels, -1)
    read = [flat.gather(2, index.unsqueeze(1).expand(batch, channels, index.shape[-1]))
            * weight.unsqueeze(1) for index, weight in taps]
    return sum(read[1:], read[0]).reshape(batch, channels, *positions)


def _times(outer, inner, size):
    """Taps of several axes: the position in the flattened input, and the product of the weights."""
    return outer[0] * size + inner[0], outer[1] * inner[1]


def _taps(point, size, mode, padding, align):
    """(index, weight) of what is read along one axis; the weight of what lies outside is 0."""
    x = (point + 1) * 0.5 * (size - 1) if align else ((point + 1) * size - 1) * 0.5
    if mode != _CUBIC:
        x = _moved_inside(x, size, padding, align)
    if mode == _NEAREST:
        return [_tap(x.detach().round(), None, size, x)]
    first = x.detach().floor()
    part = x - first
    if mode == _BILINEAR:
        return [_tap(first, 1 - part, size, x), _tap(first + 1, part, size, x)]
    return [_tap(_moved_inside(first + step, size, padding, align).round(), weight, size, x)
            for step, weight in zip((-1, 0, 1, 2), _cubic(part), strict=True)]


def _tap(position, weight, size, x):
    inside = ops.logical_and(position >= 0, position < size)
    weight = ops.ones_like(x) if weight is None else weight
    return ops.where(inside, position, 0).long(), ops.where(inside, weight, 0)


def _moved_inside(x, size, padding, align):
    if padding == _ZEROS:
        return x
    if padding == _REFLECTION:
        x = _reflected(x, *((0, size - 1) if align else (-0.5, size - 0.5)))
    return x.clamp(0, size - 1)


def _reflected(x, low, high):
    """Between two mirrors."""
    width = high - low
    if not width:
        return x * 0
    away = (x - low).abs()
    turns = (away.detach() / width).floor()
    rest = away - turns * width
    return ops.where(turns % 2 == 0, rest + low, high - rest)


def _cubic(part):
    """The weights of the four neighbours of a position ``part`` behind the second."""
    return [_far(part + 1), _near(part), _near(1 - part), _far(2 - part)]


def _near(d):
    return ((_SHARPNESS + 2) * d - (_SHARPNESS + 3)) * d * d + 1


def _far(d):
    return ((_SHARPNESS * d - 5 * _SHARPNESS) * d + 8 * _SHARPNESS) * d - 4 * _SHARPNESS
