"""Arguments at which functions are likely to go wrong."""

from __future__ import annotations

import numpy as np

_POINTS = [0, 0.25, 0.5, 0.55, 0.7071, 0.93, 1, 1.4142, 2, 3, 4, 9, 10.06, 20, 27.2, 87, 88.7, 89]
_POINTS += [90, 103.9, 104, 709.7, 709.79, 711, 745, 745.2, 746, 8192, 2.0**20, 2.0**20 + 1, 1e30]


def special(dtype: type) -> np.ndarray:
    """Zeros, limits, infinities, nan and the edges of internal ranges, with their neighbours."""
    info = np.finfo(dtype)
    points = [*_POINTS, np.pi / 4, np.pi / 2, np.pi, info.eps, info.tiny, info.max]
    values = np.array([*points, np.inf, np.nan, info.smallest_subnormal], dtype)
    values = np.concatenate([values, -values])
    with np.errstate(all="ignore"):
        near = [np.nextafter(values, dtype(end)) for end in (np.inf, -np.inf)]
    return np.concatenate([values, *near])


def spread(dtype: type, count: int, seed: int = 0) -> np.ndarray:
    """The special points, random bit patterns and random numbers of every usual size."""
    rng = np.random.default_rng(seed)
    unsigned = np.uint32 if dtype is np.float32 else np.uint64
    bits = rng.integers(0, np.iinfo(unsigned).max, count, dtype=unsigned, endpoint=True)
    sizes = 2.0 ** rng.uniform(-30, 11, count) * rng.choice([-1, 1], count)
    near_one = 1 + rng.uniform(-1, 1, count) * 2.0 ** rng.uniform(-20, 0, count)
    parts = [bits.view(dtype), rng.uniform(-5, 5, count), sizes, near_one]
    with np.errstate(over="ignore", invalid="ignore"):
        return np.concatenate([special(dtype), *(part.astype(dtype) for part in parts)])
