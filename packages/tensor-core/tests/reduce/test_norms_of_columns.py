"""Norms and nansum over columns, narrow ones (several rows are prepared at once) and wide ones."""

from __future__ import annotations

import math

import numpy
import pytest
from arrays import values
from checks import close

import flambeau as fb

ORDERS = (0, 1, 2, 3, math.inf, -math.inf)


@pytest.mark.parametrize("width", (1, 2, 3, 31, 63, 64, 65))
@pytest.mark.parametrize("dtype", ("float32", "float64", "bfloat16"))
def test_against_numpy(dtype, width):
    fb.manual_seed(width)
    for outer, n in ((1, 1), (3, 7), (2, 9), (20, 33), (2, 1500)):
        x = fb.randn(outer, n, width).to(getattr(fb, dtype))
        x[0, 0, 0], x[-1, -1, -1] = math.nan, math.inf
        for view in (x, x[:, ::2], x[:, :, :max(1, width - 1)]):
            wide = view.double().numpy()
            close(values(view.nansum(1)), numpy.nansum(wide, 1), dtype, 20)
            for order in ORDERS:
                given = fb.linalg.vector_norm(view, order, dim=1)
                close(values(given), numpy.linalg.norm(wide, order, axis=1), dtype, 20)
