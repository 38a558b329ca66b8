"""Sample arguments of rows that move, pad, write by position and search; see by_key."""
from __future__ import annotations

import numpy as np


def _pads(m):
    for mode in (0, 1, 2):
        yield m.array(2, 3, 4), (1, 2), mode
        yield m.array(2, 3, 4), (2, 0, 1, -1), mode


def _pads_back(m):
    for mode in (0, 1, 2):
        yield m.array(2, 3, 7), (1, 2), mode, (2, 3, 4)
        yield m.array(2, 3, 6), (2, 0, 1, -1), mode, (2, 3, 4)


def _reductions(m):
    if m.dtype == "bool":
        return
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include in (True, False):
            if m.dtype != "complex64" or reduce not in ("amax", "amin"):
                yield (m.array(3, 5), 1, m.index(5, 2, 4), m.array(3, 4), reduce, include)


def _search(m):
    if m.dtype in ("bool", "complex64"):
        return
    rows = np.sort(m.array(2, 7), -1)
    yield rows[0], m.array(3, 2), False, False, None, None
    yield rows, m.array(2, 4), True, True, None, None
    yield rows[0][::-1].copy(), m.array(3), False, False, "right", np.arange(7)[::-1].copy()


def _bucketize(m):
    for sequence, values, narrow, right, _, _ in list(_search(m))[:1]:
        yield values, sequence, narrow, right


BY_KEY = {
    "view.dtype": lambda m: [(m.array(3, 4), f"dtype:{m.dtype}")],
    "repeat_indices": lambda m: [(np.array([2, 0, 3]), 5)] if m.dtype == "int64" else [],
    "constant_pad_nd": lambda m: [(m.array(3, 4), (1, 2, 0, 1), 1), (m.array(3, 4), (-1, 2), 0)],
    "pad_by": _pads, "pad_by_grad": _pads_back,
    "index_copy": lambda m: [(m.array(4, 5), 1, np.array([3, 0]), m.array(4, 2)),
                             (m.array(5, 4).T, 0, np.array([2]), m.array(1, 5))],
    "index_fill": lambda m: [(m.array(4, 5), d, np.array([3, 0]), 1) for d in (0, 1)],
    "scatter_reduce": _reductions,
    "masked_scatter": lambda m: [(m.array(3, 5), m.mask(3, 5), m.array(15)),
                                 (m.array(3, 5), m.mask(5), m.array(3, 5))],
    "searchsorted": _search, "bucketize": _bucketize,
    "isin_of": lambda m: [(x := m.array(3, 5), x[0, :2])] if "complex" not in m.dtype else [],
    "row_order": lambda m: [(m.array(6, 2),)] if m.dtype != "complex64" else [],
}
