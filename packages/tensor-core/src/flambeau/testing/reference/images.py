"""Group normalization, resampling, grids, bags and alignments, with NumPy."""
from __future__ import annotations

import itertools

import numpy as np

from flambeau.testing.reference.kernels import kernel

# ---- groups


def _grouped(x, groups):
    return x.astype(np.float64).reshape(x.shape[0], groups, -1)


def _by_channel(values, x):
    return values.reshape(-1, *(1,) * (x.ndim - 2))


@kernel("native_group_norm")
def native_group_norm(x, weight, bias, groups, eps):
    rows = _grouped(x, groups)
    mean, rstd = rows.mean(-1), 1 / np.sqrt(rows.var(-1) + eps)
    result = ((rows - mean[..., None]) * rstd[..., None]).reshape(x.shape)
    result = result if weight is None else result * _by_channel(weight, x)
    return result if bias is None else result + _by_channel(bias, x), mean, rstd


@kernel("group_norm_grad")
def group_norm_grad(grad, x, weight, mean, rstd, groups):
    grad = grad.astype(np.float64)
    centred = (_grouped(x, groups) - mean[..., None]) * rstd[..., None].astype(np.float64)
    slope = _grouped(grad if weight is None else grad * _by_channel(weight, x), groups)
    inner = (slope * centred).mean(-1, keepdims=True)
    dx = rstd[..., None] * (slope - slope.mean(-1, keepdims=True) - centred * inner)
    rest = tuple(d for d in range(x.ndim) if d != 1)
    return (dx.reshape(x.shape), (grad * centred.reshape(x.shape)).sum(rest), grad.sum(rest))


# ---- other sizes


def _keys(x, a):
    x = abs(x)
    if x < 1:
        return (a + 2) * x ** 3 - (a + 3) * x ** 2 + 1
    return a * x ** 3 - 5 * a * x ** 2 + 8 * a * x - 4 * a if x < 2 else 0.0


def _keys_slope(x, a):
    x, sign = abs(x), np.sign(x)
    if x < 1:
        return sign * (3 * (a + 2) * x ** 2 - 2 * (a + 3) * x)
    return sign * (3 * a * x ** 2 - 10 * a * x + 8 * a) if x < 2 else 0.0


_FILTERS = {"smooth-linear": (1, lambda x: max(0.0, 1 - abs(x))),
            "smooth-cubic": (2, lambda x: _keys(x, -0.5)),
            "smooth-lanczos": (3, lambda x: np.sinc(x) * np.sinc(x / 3) if abs(x) < 3 else 0.0)}


def _smooth_row(mode, ratio, j, size):
    reach, shape = _FILTERS[mode]
    stretch, centre = max(ratio, 1.0), ratio * (j + 0.5)
    first = max(int(centre - reach * stretch + 0.5), 0)
    last = min(int(centre + reach * stretch + 0.5), size)
    row = np.zeros(size)
    for i in range(first, last):
        row[i] = shape((i + 0.5 - centre) / stretch)
    return row / row.sum()


def _row(mode, j, size, out, align, scale):
    """The weights of output ``j``."""
    ratio = (size - 1) / max(out - 1, 1) if align else 1 / scale if scale else size / out
    row = np.zeros(size)
    if mode == "area":
        row[j * size // out:-(-(j + 1) * size // out)] = 1
        return row / row.sum()
    if mode.startswith("smooth"):
        return _smooth_row(mode, ratio, j, size)
    if mode.startswith("nearest"):
        step = np.float32(ratio)
        row[min(int(np.float32(j + (0.5 if mode == "nearest-exact" else 0)) * step), size - 1)] = 1
        return row
    at = ratio * j if align else ratio * (j + 0.5) - 0.5
    if mode == "linear":
        at = max(at, 0.0)
        for i in (int(at), int(at) + 1):
            row[min(i, size - 1)] += max(0.0, 1 - abs(at - i))
        return row
    for i in range(int(np.floor(at)) - 1, int(np.floor(at)) + 3):
        row[min(max(i, 0), size - 1)] += _keys(at - i, -0.75)
    return row


def _matrices(sizes, outs, mode, align, scales):
    plain = mode.removeprefix("bytes-")
    matrices = [np.array([_row(plain, j, n, m, align, s) for j in range(m)])
                for n, m, s in zip(sizes, outs, scales or (None,) * len(sizes), strict=True)]
    return matrices if plain == mode else [_sixteen_bits(m) for m in matrices]


def _sixteen_bits(weights):
    """Rounded to the finest binary fractions whose numerators are int16."""
    bits = next(b for b in range(23) if b == 22 or int(0.5 + weights.max() * 2 ** (b + 1)) >= 32768)
    return np.trunc(weights * 2 ** bits + np.copysign(0.5, weights)) / 2 ** bits


def _along_each(x, matrices):
    x = x.astype(np.float64)
    for d, matrix in enumerate(matrices):
        x = np.moveaxis(np.tensordot(matrix, x, (1, d + 2)), 0, d + 2)
    return x


@kernel("resample")
def resample(x, size, mode, align, scales):
    return _along_each(x, _matrices(x.shape[2:], size, mode, align, scales))


@kernel("resample_grad")
def resample_grad(grad, size, mode, align, scales):
    matrices = _matrices(size, grad.shape[2:], mode, align, scales)
    return _along_each(grad, [m.T for m in matrices])


# ---- grids


def _mirrored(at, slope, size, align):
    low, span = (0.0, size - 1) if align else (-0.5, size)
    if span == 0:
        return 0.0, 0.0
    turns, rest = divmod(abs(at - low), span)
    slope = slope if at >= low else -slope
    return (span - rest + low, -slope) if turns % 2 else (rest + low, slope)


def _inside(at, slope, size, border, align):
    if border == 2:
        at, slope = _mirrored(at, slope, size, align)
    if border and not 0 < at < size - 1:
        at, slope = (size - 1.0 if at > 0 else 0.0), 0.0
    return at, slope


def _axis(x, size, mode, border, align):
    """Weights of one axis and their derivatives, as dictionaries from the element."""
    at = (x + 1) / 2 * (size - 1) if align else ((x + 1) * size - 1) / 2
    slope = (size - 1 if align else size) / 2
    taps = []
    if mode == 2:
        for i in range(int(np.floor(at)) - 1, int(np.floor(at)) + 3):
            position = int(_inside(float(i), 0.0, size, border, align)[0])
            taps.append((position, _keys(at - i, -0.75), _keys_slope(at - i, -0.75) * slope))
    else:
        at, slope = _inside(at, slope, size, border, align)
        below = int(np.floor(at))
        taps = [(round(at), 1.0, 0.0)] if mode == 1 else [
            (below, below + 1 - at, -slope), (below + 1, at - below, slope)]
    return [tap for tap in taps if 0 <= tap[0] < size]


def _positions(grid, sizes, modes):
    """For each position of the grid: its number and, for each combination of taps, the element, the
    weight and the derivatives by the grid's numbers."""
    axes = len(sizes)
    for index in np.ndindex(*grid.shape[:-1]):
        point = grid[index].astype(np.float64)
        lines = [_axis(point[axes - 1 - d], n, *modes) for d, n in enumerate(sizes)]
        for combination in itertools.product(*lines):
            element = tuple(tap[0] for tap in combination)
            weights = [tap[1] for tap in combination]
            slopes = [combination[d][2] * np.prod(weights[:d] + weights[d + 1:])
                      for d in reversed(range(axes))]
            yield index, element, np.prod(weights), slopes


@kernel("grid_sampler")
def grid_sampler(x, grid, *modes):
    out = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for (n, *position), element, weight, _ in _positions(grid, x.shape[2:], modes):
        out[(n, slice(None), *position)] += weight * x[(n, slice(None), *element)]
    return out


@kernel("grid_sampler_grad")
def grid_sampler_grad(grad, x, grid, *modes):
    dx, dgrid = np.zeros(x.shape), np.zeros(grid.shape)
    for (n, *position), element, weight, slopes in _positions(grid, x.shape[2:], modes):
        g, at = grad[(n, slice(None), *position)].astype(np.float64), (n, slice(None), *element)
        dx[at] += weight * g
        dgrid[(n, *position)] += np.array(slopes) * (g * x[at]).sum()
    return dx, dgrid


# ---- bags


@kernel("embedding_bag_rows")
def embedding_bag_rows(weight, indices, offsets, factors, mode, last_given, padding, by_frequency):
    ends = [*offsets[1:]] if last_given else [*offsets[1:], len(indices)]
    if last_given and (weight.dtype == np.float64 or mode == 2 or padding >= 0):
        ends[-1] = len(indices)     # as PyTorch, which reads the last offset in its quick path only
    starts = offsets[:-1] if last_given else offsets
    out = np.zeros((len(ends), weight.shape[1]))
    bags, counts = np.full(len(indices), -1), np.zeros(len(ends), np.int64)
    chosen = np.full(out.shape if mode == 2 else (0,), -1)
    for bag, (first, last) in enumerate(zip(starts, ends, strict=True)):
        bags[first:last] = bag
        kept = [i for i in range(first, last) if indices[i] != padding]
        counts[bag] = len(kept)
        if not kept:
            continue
        rows = weight[indices[kept]].astype(np.float64)
        rows = rows if factors is None else rows * factors[kept][:, None]
        out[bag] = (rows.sum, rows.mean, rows.max)[mode](0)
        if mode == 2:
            chosen[bag] = indices[kept][rows.argmax(0)]
    return out, bags, counts, chosen


# ---- alignments, by listing all paths


def _collapsed(path, blank):
    return [label for label, _ in itertools.groupby(path) if label != blank]


def _posteriors(scores, target, blank):
    """Probability of a target, and of being at each class at each step together with it."""
    steps, classes = scores.shape
    total, at = 0.0, np.zeros(scores.shape)
    for path in itertools.product(range(classes), repeat=steps):
        if _collapsed(path, blank) == list(target):
            p = np.exp(sum(scores[t, c] for t, c in enumerate(path)))
            total += p
            at[range(steps), path] += p
    return total, at


def _items(log_probs, targets, input_lengths, target_lengths, blank):
    ends = np.cumsum(target_lengths)
    for n, (steps, length) in enumerate(zip(input_lengths, target_lengths, strict=True)):
        target = targets[n, :length] if targets.ndim == 2 else targets[ends[n] - length:ends[n]]
        scores = log_probs[:steps, n].astype(np.float64)
        yield n, scores, *_posteriors(scores, target, blank)


@kernel("ctc_loss_rows")
def ctc_loss_rows(log_probs, *rest):
    return np.array([-np.log(total) for _, _, total, _ in _items(log_probs, *rest)])


@kernel("ctc_loss_grad")
def ctc_loss_grad(grad, log_probs, targets, input_lengths, target_lengths, result, blank):
    out = np.zeros(log_probs.shape)
    rest = targets, input_lengths, target_lengths, blank
    for n, scores, total, at in _items(log_probs, *rest):
        out[:len(scores), n] = grad[n] * (np.exp(scores) - at / total)
    return out
