"""Sample arguments of reductions, scans, order statistics and histograms."""
from __future__ import annotations

import numpy as np


def _distinct(m, *shape):
    """Different values, so that it is plain which index is meant."""
    return m.array(*shape) if m.dtype in ("bool", "complex64") else m.distinct(*shape)


def _order(*rest):
    """A line along each dimension; bools have ties and are left out."""
    return lambda m: [] if m.dtype == "bool" else \
        [(x, *r) for x in (_distinct(m, 3, 8), _distinct(m, 8, 3).T) for r in rest]


def _scan(*rest):
    return lambda m: [(x, d, *rest) for x in (m.array(3, 5), m.array(5, 3).T, m.array(2, 3, 4))
                      for d in (0, -1)] + [(m.array(0, 3), 0, *rest), (m.array(), 0, *rest)]


def _norm(m):
    return [(x, p, d, keepdim, None) for x in (m.array(3, 5), m.array(5, 3).T)
            for p in (2.0, 1.0, 0.0, 3.0, float("inf"), -float("inf"))
            for d, keepdim in ((None, False), ((1,), True), ((0,), False))]


_NINE = np.linspace(-1, 1, 9, dtype=np.float32)


def _factors(columns, group):
    groups = -(-columns // group) if group else 1
    return np.linspace(0.5, 1, 9 * groups, dtype=np.float32).reshape(9, groups)


def _floats(m):
    return m.dtype in ("float32", "float64")


def _histogram(m):
    if not _floats(m):
        return []
    edges = tuple(np.asarray(e, m.numpy_dtype)
                  for e in ([-2.0, -0.5, 1.0], [-1.0, 0.0, 0.5, 2.0]))
    return [(m.array(40, 2), edges, w) for w in (None, m.array(40))]


def _whole(m):
    return m.dtype in ("uint8", "int32", "int64")


def _wide(m):
    return m.dtype in ("float32", "float64")


def _rates(m, *shape):
    return np.abs(m.array(*shape)).astype(m.numpy_dtype)


def _chances(m, *shape):
    return m.rng.random(shape).astype(m.numpy_dtype)


BY_KEY = {
    "norm_of": _norm,
    "cumprod": _scan(None), "cummax": _scan(), "cummin": _scan(), "logcumsumexp": _scan(),
    "median": _order(()), "nanmedian": _order(()),
    "median.dim": _order((0, False), (-1, True)), "nanmedian.dim": _order((0, True), (1, False)),
    "kthvalue": _order((2, 0, False), (3, -1, True)), "mode": _order((0, False), (-1, True)),
    "histc": lambda m: [(m.array(3, 20), 5, -2, 3), (m.array(60), 3, 0, 0)] if _floats(m) else [],
    "check_probabilities": lambda m: [(abs(m.array(3, 4)) / 4,)] if _floats(m) else [],
    "bincount_of": lambda m: [(np.abs(m.array(30)).astype(m.numpy_dtype), w, 15)
                              for w in (None, m.rng.random(30))] if _whole(m) else [],
    "csr_product": lambda m: [(np.array([0, 2, 2, 5]), np.array([3, 0, 1, 1, 2]), m.array(5),
                               m.array(4, n)) for n in (0, 3, 70)] if _wide(m) else [],
    "quantized_linear": lambda m: [
        (m.array(*shape), np.arange(-3, 9 * shape[-1] - 3).reshape(9, -1).astype(np.int8),
         np.linspace(0.5, 1, 9, dtype=np.float32), b)
        for shape in ((5,), (0, 3), (2, 3, 70))
        for b in (None, np.linspace(-1, 1, 9, dtype=np.float32))] if m.dtype == "float32" else [],
    "weight_only_linear": lambda m: [
        (m.array(*shape), np.arange(9 * (-(-shape[-1] // 32) * 16 if four else shape[-1])).reshape(
            9, -1).astype(np.uint8 if four else np.int8), _factors(shape[-1], group),
         _factors(shape[-1], group) if shift else None, bias, group)
        for shape, group, bias in (((5,), 0, None), ((0, 3), 0, None), ((2, 3, 70), 32, _NINE),
                                   ((5, 64), 0, _NINE))
        for four in (False, True) for shift in (False, True)] if m.dtype == "float32" else [],
    "sampled_product": lambda m: [(np.array([0, 2, 2]), np.array([3, 0, 1]), m.array(3, n),
                                   m.array(4, n)) for n in (0, 3, 70)] if _wide(m) else [],
    "histogram_of": _histogram,
    "bernoulli": lambda m: [(_chances(m, 3, 5), None)] if _floats(m) else [],
    "poisson": lambda m: [(_rates(m, 3, 5) * 9, None)] if _floats(m) else [],
    "binomial": lambda m: [(np.round(_rates(m, 3, 5) * 9), _chances(m, 5), None)]
    if _floats(m) else [],
    "standard_gamma": lambda m: [(_rates(m, 3, 5) * 3 + 1, None)] if _floats(m) else [],
    "sample_dirichlet": lambda m: [(_rates(m, 3, 5) + 1, None)] if _floats(m) else [],
    "standard_gamma_grad": lambda m: [(_rates(m, 3, 5) * 3 + 1, _rates(m, 5) + 1)]
    if _floats(m) else [],
    "dirichlet_grad": lambda m: [(_chances(m, 3, 5), _rates(m, 5) + 1, _rates(m, 3, 1) * 9 + 9)]
    if _floats(m) else [],
    "multinomial": lambda m: [(_chances(m, 3, 5), 2, again, None) for again in (False, True)]
    if _floats(m) else [],
}
