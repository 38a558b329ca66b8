"""Sample arguments of Fourier transforms (see ``by_key.py``)."""
from __future__ import annotations


def _c2c(m):
    if m.dtype != "complex64":
        return []
    return [(m.array(3, 5), (0, 1), 1.0, True), (m.array(5, 4).T, (1,), 0.5, False),
            (m.array(40, 3), (0,), 1.0, True), (m.array(2, 37), (-1,), 1.0, True),
            (m.array(3), (), 1.0, True)]


def _r2c(m):
    if m.dtype not in ("float32", "float64"):
        return []
    return [(m.array(3, 5), (0, 1), 1.0, True, True), (m.array(6, 4).T, (1,), 0.5, True, False),
            (m.array(2, 80), (-1,), 1.0, True, True), (m.array(6, 3), (0,), 1.0, False, True)]


def _c2r(m):
    if m.dtype != "complex64":
        return []
    return [(m.array(3, 5), (0, 1), 8, 1.0, False), (m.array(5, 4).T, (1,), 9, 0.5, True),
            (m.array(41, 2), (0,), 80, 1.0, False)]


BY_KEY = {"fft_c2c": _c2c, "fft_r2c": _r2c, "fft_c2r": _c2r}
