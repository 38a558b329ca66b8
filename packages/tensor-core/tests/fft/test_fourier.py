"""Fourier transforms: every length against NumPy, accuracy, threads, frequencies, errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from checks import bits

import flambeau
from flambeau import fft

SMOOTH = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 26, 31, 32, 49, 62, 64, 65, 96, 100, 121, 128,
          169, 243, 256, 512, 961, 1000, 1024, 2187, 4096, 5000, 16384)
OTHERS = (37, 41, 67, 74, 111, 127, 1009, 1369, 2018)
KINDS = {"float32": (np.float32, np.complex64, 1.5e-7), "float64": (np.float64, np.complex128,
                                                                    3e-16)}


def _made(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def _error(got, want):
    """Relative to the norm of all numbers."""
    got = got.numpy().astype(want.dtype)
    assert got.shape == want.shape
    return np.linalg.norm(got - want) / max(np.linalg.norm(want), 1e-300)


def _bound(n, unit):
    return unit * (2 + math.log2(n)) * (4 if n in OTHERS else 1)


@pytest.mark.parametrize("n", SMOOTH + OTHERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", ["line", "lines", "many lines", "columns", "wide"])
def test_lengths(n, kind, shape):
    real, complex_, unit = KINDS[kind]
    size, axis = {"line": ((n,), 0), "lines": ((5, n), 1),
                  "many lines": ((19, n), 1), "columns": ((n, 3), 0),
                  "wide": ((2, n, 19), 1)}[shape]
    z, x = _made(size, complex_), _made(size, real)
    wide, wide_x = z.astype(np.complex128), x.astype(np.float64)
    half = np.take(z, range(n // 2 + 1), axis=axis)
    at, bound = flambeau.from_numpy, _bound(n, unit)
    assert _error(fft.fft(at(z), dim=axis), np.fft.fft(wide, axis=axis)) < bound
    assert _error(fft.ifft(at(z), dim=axis), np.fft.ifft(wide, axis=axis)) < bound
    assert _error(fft.fft(at(x), dim=axis), np.fft.fft(wide_x, axis=axis)) < bound
    assert _error(fft.rfft(at(x), dim=axis), np.fft.rfft(wide_x, axis=axis)) < bound
    assert _error(fft.ihfft(at(x), dim=axis), np.fft.ihfft(wide_x, axis=axis)) < bound
    wide_half = half.astype(np.complex128)
    assert _error(fft.irfft(at(half), n, axis), np.fft.irfft(wide_half, n, axis)) < bound
    assert _error(fft.hfft(at(half), n, axis), np.fft.hfft(wide_half, n, axis)) < bound


@pytest.mark.parametrize("n", [1 << 17, 100_000, 65_537])
def test_long_lines(n):
    z = _made(n, np.complex64)
    assert _error(fft.fft(flambeau.from_numpy(z)), np.fft.fft(z.astype(np.complex128))) < 2e-6


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("s, axes", [(None, (0, 2)), ((5, 12), (2, 0)), ((4, 9, 3), (0, 1, 2))])
def test_several_dimensions(norm, s, axes):
    z, x = _made((6, 7, 10), np.complex128), _made((6, 7, 10), np.float64)
    a, b = flambeau.from_numpy(z), flambeau.from_numpy(x)
    assert _error(fft.fftn(a, s, axes, norm), np.fft.fftn(z, s, axes, norm)) < 1e-14
    assert _error(fft.ifftn(a, s, axes, norm), np.fft.ifftn(z, s, axes, norm)) < 1e-14
    assert _error(fft.rfftn(b, s, axes, norm), np.fft.rfftn(x, s, axes, norm)) < 1e-14
    assert _error(fft.irfftn(a, s, axes, norm), np.fft.irfftn(z, s, axes, norm)) < 1e-14


def test_strided_input_is_read_through_its_strides():
    z = _made((9, 8), np.complex64)
    t = flambeau.from_numpy(z)
    assert bits(fft.fft(t.t()[::2])) == bits(fft.fft(t.t()[::2].contiguous()))


def test_out_is_written_and_returned():
    x = flambeau.from_numpy(_made((3, 8), np.float32))
    out = flambeau.empty(3, 5, dtype=flambeau.complex64)
    assert fft.rfft(x, out=out) is out
    assert bits(out) == bits(fft.rfft(x))


@pytest.mark.parametrize("shape, axis", [((1 << 15,), 0), ((64, 300), 1), ((300, 70), 0),
                                         ((3, 1009), 1)])
def test_the_same_bits_for_any_number_of_threads(shape, axis):
    z, threads = flambeau.from_numpy(_made(shape, np.complex64)), flambeau.get_num_threads()
    try:
        found = []
        for count in (1, 2, 5):
            flambeau.set_num_threads(count)
            found.append(bits(fft.fft(z, dim=axis)))
    finally:
        flambeau.set_num_threads(threads)
    assert found[0] == found[1] == found[2]


def test_more_lengths_than_the_cache_holds():
    for n in [*range(200, 320), 200]:
        x = _made(n, np.float32)
        assert _error(fft.rfft(flambeau.from_numpy(x)), np.fft.rfft(x.astype(np.float64))) < 5e-6


def test_infinities_and_nan_reach_every_term():
    x = flambeau.tensor([1.0, math.nan, 0.0, 2.0])
    assert fft.fft(x).isnan().all()


def test_an_inverse_ignores_the_imaginary_parts_of_real_terms():
    terms = flambeau.tensor([1 + 5j, 2 + 1j, 3 + 7j])
    want = np.fft.irfft([1, 2 + 1j, 3], 4)
    assert _error(fft.irfft(terms), want) < 1e-7


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8])
def test_frequencies(n):
    if n:
        assert np.allclose(fft.fftfreq(n, 0.5).numpy(), np.fft.fftfreq(n, 0.5))
        assert np.allclose(fft.rfftfreq(n, 0.5).numpy(), np.fft.rfftfreq(n, 0.5))
    else:
        assert fft.fftfreq(0).shape == (0,)


def test_shifts():
    x = np.arange(15).reshape(3, 5)
    t = flambeau.from_numpy(x)
    assert fft.fftshift(t).tolist() == np.fft.fftshift(x).tolist()
    assert fft.ifftshift(t, (1,)).tolist() == np.fft.ifftshift(x, 1).tolist()


@pytest.mark.parametrize("call, error, text", [
    (lambda x: fft.fft(x, 0), RuntimeError, r"Invalid number of data points \(0\)"),
    (lambda x: fft.fft(x, norm="x"), RuntimeError, 'Invalid normalization mode: "x"'),
    (lambda x: fft.fft(x, dim=2), IndexError, "Dimension out of range"),
    (lambda x: fft.fft(x.sum()), IndexError, "no dimensions"),
    (lambda x: fft.fft(x[:, :0]), RuntimeError, "Invalid number of data points"),
    (lambda x: fft.rfft(x + 0j), RuntimeError, "rfft expects a real input tensor"),
    (lambda x: fft.irfft(x[:, :1]), RuntimeError, "Invalid number of data points"),
    (lambda x: fft.fft(x.half()), RuntimeError, "Unsupported dtype"),
    (lambda x: fft.fftn(x, dim=(0, 0)), RuntimeError, "must be unique"),
    (lambda x: fft.fftn(x, s=(1, 2, 3)), RuntimeError, "shape with 3 values"),
    (lambda x: fft.fftn(x, s=(1, 2), dim=(0,)), RuntimeError, "same length"),
    (lambda x: fft.rfftn(x, dim=()), RuntimeError, "at least one axis"),
    (lambda x: fft.fftfreq(-1), RuntimeError, "negative dimension"),
    (lambda x: fft.fftfreq(4, dtype=flambeau.int64), RuntimeError, "floating point"),
    (lambda x: fft.fft(x, out=flambeau.zeros(2, 8)), RuntimeError, "complex"),
    (lambda x: flambeau.stft(x, 4), RuntimeError, "return_complex"),
    (lambda x: flambeau.stft(x, 4, 0, return_complex=True), RuntimeError, "hop_length > 0"),
    (lambda x: flambeau.stft(x, 4, window=x[0], return_complex=True), RuntimeError, "1D window"),
    (lambda x: flambeau.stft(x, 9, center=False, return_complex=True), RuntimeError, "n_fft"),
    (lambda x: flambeau.istft(x, 14), RuntimeError, "complex-valued"),
    (lambda x: flambeau.istft(x + 0j, 14), RuntimeError, "frequency dimension"),
    (lambda x: flambeau.istft(x + 0j, 2, 1, window=x[0, :2] * 0), RuntimeError, "overlap add min"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(flambeau.ones(2, 8))


def test_stft_is_undone():
    x = flambeau.from_numpy(_made((2, 50), np.float64))
    window = flambeau.hann_window(8, dtype=flambeau.float64)
    terms = flambeau.stft(x, 8, window=window, return_complex=True)
    assert terms.shape == (2, 5, 26)
    back = flambeau.istft(terms, 8, window=window, length=50)
    assert (back - x).abs().max() < 1e-13
