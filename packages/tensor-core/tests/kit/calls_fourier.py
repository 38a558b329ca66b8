"""Calls of Fourier transforms (see ``calls.py``)."""

from __future__ import annotations

from call import TWO
from call import call_of as _c

COMPLEX = ("complex64", "complex128")
ANY = (*TWO, *COMPLEX, "int32", "bool")
REAL = (*TWO, "int64")


def _f(name, *args, shape=(3, 4, 5), d=ANY, **options):
    def call(lib, x):
        return getattr(lib.fft, name)(x, *args, **options).resolve_conj()

    return _c(call, shape, d=d, factor=4)


def _one(name, d):
    return [_f(name, d=d), _f(name, 8, 0, "ortho", d=d), _f(name, n=3, dim=1, norm="forward", d=d),
            _f(name, shape=(2, 37), d=d), _f(name, shape=(96,), d=d), _f(name, shape=(34, 6), d=d,
                                                                         dim=0)]


def _two(name, d):
    return [_f(name, d=d), _f(name, (6, -1), (0, 2), "ortho", d=d)]


def _many(name, d):
    return [_f(name, d=d), _f(name, s=(2, 7), d=d), _f(name, dim=(1, 0), norm="forward", d=d)]


_KINDS = {"fft": ANY, "ifft": ANY, "rfft": REAL, "irfft": COMPLEX, "hfft": COMPLEX, "ihfft": REAL}


def _stft(*args, shape=(40,), d=TWO, window=None, **options):
    def call(lib, x):
        w = lib.tensor([0.2 + 0.1 * i for i in range(window)]).to(x.dtype) if window else None
        return lib.stft(x, *args, window=w, **options)

    return _c(call, shape, d=d, factor=4)


def _istft(n_fft, *args, shape, d=COMPLEX, window=None, **options):
    def call(lib, x):
        x = x + 0
        w = lib.tensor([0.2 + 0.1 * i for i in range(window)]).to(x.real.dtype) if window else None
        return lib.istft(x, n_fft, *args, window=w, **options)

    return _c(call, shape, d=d, factor=4)


FOURIER = {
    **{f"fft_{name}": _one(name, d) for name, d in _KINDS.items()},
    **{f"fft_{name}2": _two(f"{name}2", d) for name, d in _KINDS.items()},
    **{f"fft_{name}n": _many(f"{name}n", d) for name, d in _KINDS.items()},
    "fft_fftshift": [_f("fftshift"), _f("fftshift", dim=(1, -1)), _f("fftshift", dim=0)],
    "fft_ifftshift": [_f("ifftshift"), _f("ifftshift", dim=(1, -1))],
    "stft": [_stft(8, window=8, return_complex=True),
             _stft(8, 3, 6, window=6, return_complex=True, shape=(2, 40)),
             _stft(8, window=8, normalized=True, return_complex=True),
             _stft(9, 2, window=9, center=False, return_complex=True),
             _stft(8, window=8, pad_mode="constant", onesided=False, return_complex=True),
             _stft(8, 2, 5, window=5, center=False, align_to_window=True, return_complex=True),
             _stft(8, window=8, d=COMPLEX)],
    "istft": [_istft(8, shape=(5, 6), window=8), _istft(8, 3, shape=(2, 5, 6), window=8),
              _istft(9, 2, 7, shape=(5, 6), normalized=True, window=7),
              _istft(8, shape=(5, 6), length=7, window=8),
              _istft(8, shape=(5, 6), length=17, center=False, window=8),
              _istft(8, shape=(8, 6), onesided=False, return_complex=True,
                     window=8),
              _istft(8, shape=(8, 6), window=8),
              _istft(8, shape=(8, 6), return_complex=True, window=8)],
}

FOURIER_ELSEWHERE = {"fft_c2c": "fft_fft, test_fourier.py", "fft_r2c": "fft_rfft, test_fourier.py",
                     "fft_c2r": "fft_irfft, test_fourier.py"}
