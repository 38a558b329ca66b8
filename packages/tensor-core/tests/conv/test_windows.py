"""Window functions against SciPy's and PyTorch's, and functions that make tensors."""

from __future__ import annotations

import numpy
import pytest

import flambeau
from flambeau.signal import windows

#: name -> keyword arguments, SciPy's name and positional arguments
CASES = {
    "bartlett": ({}, ("bartlett",)), "blackman": ({}, ("blackman",)),
    "cosine": ({}, ("cosine",)), "hamming": ({}, ("hamming",)), "hann": ({}, ("hann",)),
    "nuttall": ({}, ("nuttall",)), "exponential": ({"tau": 2.0}, ("exponential", None, 2.0)),
    "gaussian": ({"std": 1.7}, ("gaussian", 1.7)), "kaiser": ({"beta": 8.6}, ("kaiser", 8.6)),
    "general_hamming": ({"alpha": 0.6}, ("general_hamming", 0.6)),
    "general_cosine": ({"a": [0.5, 0.3, 0.2]}, ("general_cosine", [0.5, 0.3, 0.2])),
}


@pytest.mark.parametrize("sym", (True, False))
@pytest.mark.parametrize("length", (0, 1, 2, 7, 64))
@pytest.mark.parametrize("name", CASES)
def test_windows_are_scipys(name, length, sym):
    signal = pytest.importorskip("scipy.signal.windows", reason="needs SciPy")
    options, (theirs, *rest) = CASES[name]
    expected = getattr(signal, theirs)(length, *rest, sym=sym)
    got = getattr(windows, name)(length, sym=sym, dtype=flambeau.float64, **options).numpy()
    assert got.shape == expected.shape
    assert abs(got - expected).max(initial=0) < 1e-14


@pytest.mark.parametrize("name", ("hann_window", "hamming_window", "blackman_window",
                                  "bartlett_window", "kaiser_window"))
@pytest.mark.parametrize("periodic", (True, False))
def test_older_names(name, periodic):
    torch = pytest.importorskip("torch")
    for length in (0, 1, 2, 9):
        ours = getattr(flambeau, name)(length, periodic)
        assert ours.dtype is flambeau.float32
        numpy.testing.assert_allclose(ours.numpy(), getattr(torch, name)(length, periodic).numpy(),
                                      rtol=0, atol=1e-6)


def test_options_of_windows():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    assert windows.hann(4, requires_grad=True).requires_grad
    assert flambeau.hann_window(4, dtype=flambeau.bfloat16).tolist() == [0.0, 0.5, 1.0, 0.5]
    with pytest.raises(ValueError, match="non-negative"):
        windows.hann(-1)
    with pytest.raises(ValueError, match="float32 or float64"):
        windows.hann(3, dtype=flambeau.int64)
    with pytest.raises(ValueError, match="center"):
        windows.exponential(3, center=1.0)


# ---- functions that make tensors


@pytest.mark.parametrize("make", [
    lambda lib: lib.logspace(0, 3, 4), lambda lib: lib.logspace(-1, 2, 5, base=2.0),
    lambda lib: lib.logspace(1, 5, 8, dtype=lib.int64), lambda lib: lib.logspace(0, 1, 0),
    lambda lib: lib.logspace(0, 2, 3, 10.0, dtype=lib.float64),
    lambda lib: lib.logspace(lib.tensor(0.0), lib.tensor(1.0), 3),
    lambda lib: lib.scalar_tensor(3), lambda lib: lib.scalar_tensor(2, dtype=lib.int32),
    lambda lib: lib.arange(end=4), lambda lib: lib.arange(1, end=4),
    lambda lib: lib.arange(start=1, end=4, step=0.5), lambda lib: lib.zeros(size=(2, 1)),
    lambda lib: lib.ones((2,), out=lib.empty(0)), lambda lib: lib.full((2,), 3, out=lib.empty(2)),
    lambda lib: lib.arange(3, out=lib.empty(0)), lambda lib: lib.eye(2, out=lib.empty(0)),
    lambda lib: lib.linspace(0, 1, 3, out=lib.empty(3, dtype=lib.float64)),
    lambda lib: lib.zeros(2, pin_memory=False, layout=lib.strided),
    lambda lib: lib.empty_strided((2, 2), (4, 1), requires_grad=False).fill_(1),
    lambda lib: lib.ones(2).new_empty_strided((2, 3), (1, 2)).fill_(2)])
def test_like_pytorch(make):
    torch = pytest.importorskip("torch")
    ours, theirs = make(flambeau), make(torch)
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
    assert ours.stride() == theirs.stride()
    numpy.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


def test_out_is_returned_and_marked():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    target = flambeau.empty(0, dtype=flambeau.float64)
    assert flambeau.rand(3, out=target) is target and target.shape == (3,)
    assert flambeau.scalar_tensor(1, requires_grad=True).requires_grad
    assert flambeau.empty_strided((2,), (3,), requires_grad=True).is_leaf
    with pytest.raises(TypeError, match="end"):
        flambeau.arange()
    with pytest.raises(TypeError, match="size"):
        flambeau.randint(3)


def test_complex_random_numbers_have_unit_variance():
    flambeau.manual_seed(0)
    for x in (flambeau.randn(40_000, dtype=flambeau.complex64),
              flambeau.randn_like(flambeau.empty(40_000, dtype=flambeau.complex64)),
              flambeau.empty(40_000, dtype=flambeau.complex64).normal_()):
        z = x.numpy()
        assert abs((abs(z) ** 2).mean() - 1) < 0.03
        assert abs(z.real.var() - 0.5) < 0.02
