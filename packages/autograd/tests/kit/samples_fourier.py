"""Calls of Fourier transforms (see ``samples.py``)."""

from numbers_for_tests import complexes, reals

import flambeau
from flambeau.core import ops


def _r2c(*shape, **options):
    return lambda: (lambda x: ops.fft_r2c(x, **options), (reals(*shape),))


def _c2r(*shape, **options):
    return lambda: (lambda x: ops.fft_c2r(x, **options), (complexes(*shape),))


def _round_trip(x):
    terms = flambeau.stft(x, 4, window=reals(4, low=0.5, grad=False), return_complex=True)
    return flambeau.istft(terms * terms, 4, window=reals(4, low=0.5, grad=False))


FOURIER = {
    "fft_c2c": [
        lambda: (lambda x: ops.fft_c2c(x, (0, 1), 0.5, True), (complexes(3, 4),)),
        lambda: (lambda x: ops.fft_c2c(x, (0,), 1.0, False), (complexes(5, 2),)),
        lambda: (_round_trip, (reals(9),)),
    ],
    "fft_r2c": [_r2c(5, dim=(0,)), _r2c(6, dim=(-1,), scale=0.5), _r2c(3, 4, dim=(1, 0)),
                _r2c(2, 5, dim=(0, 1), forward=False), _r2c(2, 4, dim=(0, 1), onesided=False),
                _r2c(1, dim=(0,)), _r2c(2, dim=(0,))],
    "fft_c2r": [_c2r(3, dim=(0,), last_dim_size=5), _c2r(3, dim=(0,), last_dim_size=4, scale=0.5),
                _c2r(3, 2, dim=(1, 0), last_dim_size=4),
                _c2r(2, 3, dim=(0, 1), last_dim_size=5, forward=True)],
}
