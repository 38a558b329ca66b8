"""Differentiable calls of recurrent layers (see ``samples.py``)."""

from __future__ import annotations

from numbers_for_tests import reals

from flambeau.core import ops

_GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}


def _layer(mode, sizes=None, reverse=False, projection=0):
    """Three steps of two sequences with two features and three units, or packed ones."""
    rows, state = 3 * _GATES[mode], projection or 3
    shapes = [(3, 2, 2) if sizes is None else (sum(sizes), 2), (2, state), (rows, 2),
              (rows, state), (rows,), (rows,)]
    shapes += [(2, 3)] if mode == "lstm" else []
    shapes += [(projection, 3)] if projection else []

    def call(x, h, w_ih, w_hh, b_ih, b_hh, c=None, w_hr=None):
        results = ops.recurrent(x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, mode, reverse)
        return results[:3] if mode == "lstm" else results[:2]

    return call, tuple(reals(*shape, low=-1.0, high=1.0, seed=i)
                       for i, shape in enumerate(shapes))


SAMPLES = {"recurrent": [
    *[lambda mode=mode: _layer(mode) for mode in _GATES],
    lambda: _layer("lstm", [2, 2, 1], True),
    lambda: _layer("gru", [2, 1], False),
    lambda: _layer("lstm", None, True, 2),
]}
