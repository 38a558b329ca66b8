"""Powers are one rule: the same bits whichever way they are computed, and PyTorch's values."""
from __future__ import annotations

import warnings

import numpy
import pytest

import flambeau
import flambeau.func
import flambeau.jit

INF, NAN = float("inf"), float("nan")
EXPONENTS = (0, 0.0, -0.0, 0.5, -0.5, 1, -1, -1.0, 2, 2.0, -2, 3, -3.0, 4, 2.5, -2.5, INF, -INF,
             NAN, True, False)
NUMBERS = EXPONENTS[:-2]
REAL = (-0.0, 0.0, 1.0, -1.0, INF, -INF, NAN, 1e-40, -1e-40, 1e-310, 2.0, -2.0, 3.7, -3.7, 0.1,
        1e30, -1e30, 6e4, 1e-3)
COMPLEX = tuple(complex(a, b) for a in (0.0, 1.0, -2.5, 3e4) for b in (0.0, 1.0, -0.3))
INTEGERS = (0, 1, 2, 3, 7, 100)
VALUES = {"float16": REAL, "bfloat16": REAL, "float32": REAL, "float64": REAL,
          "complex64": COMPLEX, "complex128": COMPLEX, "int32": (*INTEGERS, -1, -2, -7),
          "int64": (*INTEGERS, -1, -2, -7), "uint8": INTEGERS, "uint64": INTEGERS,
          "bool": (True, False)}
STEP = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52,
        "complex64": 2.0**-23, "complex128": 2.0**-52}


def same_nan(x):
    """The elements as real NumPy numbers in which every NaN is the same."""
    values = (x.float() if "bfloat16" in str(x.dtype) else x).detach().numpy().copy()
    if values.dtype.kind == "c":
        values = numpy.ascontiguousarray(values).view(values.real.dtype)
    if values.dtype.kind == "f":
        values = numpy.where(numpy.isnan(values), NAN, values)
    return values


def outcome(compute, *args):
    """The dtype and bits of a result, or that there is none."""
    try:
        result = compute(*args)
    except RuntimeError:
        return "RuntimeError"
    return str(result.dtype), same_nan(result).tobytes()


def ways(power):
    """Ways to compute ``power(x)``, which may not change a bit."""
    def fused(x):
        return flambeau.jit.trace(lambda v: (power(v), power(v) == v), (x,))(x)[0]

    return {
        "view": lambda x: power(flambeau.stack([x, x], 1)[:, 0]),
        "large": lambda x: power(x.repeat(600))[-x.numel():],
        "scalars": lambda x: flambeau.stack([power(v) for v in x]),
        "vmap": flambeau.func.vmap(power),
        "trace": lambda x: flambeau.jit.trace(power, (x,))(x),
        "fused": fused,
        "compile": flambeau.compile(power),
    }


def forms(exponent):
    """Forms of the call with this number."""
    def written(x):
        return flambeau.pow(x, exponent, out=flambeau.empty_like(x ** exponent))

    def inplace(x):
        result = x ** exponent
        return x.clone().pow_(exponent) if result.dtype == x.dtype else result

    return {"function": lambda x: flambeau.pow(x, exponent), "method": lambda x: x.pow(exponent),
            "out": written, "inplace": inplace}


@pytest.mark.parametrize("exponent", EXPONENTS, ids=repr)
@pytest.mark.parametrize("dtype", VALUES)
def test_every_way_gives_the_same_bits(dtype, exponent):
    def power(x):
        return x ** exponent

    x = flambeau.tensor(VALUES[dtype], dtype=getattr(flambeau, dtype))
    expected = outcome(power, x)
    for name, way in (ways(power) | forms(exponent)).items():
        assert outcome(way, x) == expected, name


@pytest.mark.parametrize("kind", ["scalar", "full"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64", "int64"])
def test_every_way_gives_the_same_bits_of_tensor_exponents(dtype, kind):
    x = flambeau.tensor(VALUES[dtype], dtype=getattr(flambeau, dtype))
    for exponent in (0, 1, 2, 3, 4) if dtype == "int64" else EXPONENTS:
        y = flambeau.tensor(exponent, dtype=x.dtype)

        def power(v, y=y):
            return v ** (y if kind == "scalar" else y.expand(v.shape))

        expected = outcome(power, x)
        for name, way in ways(power).items():
            assert outcome(way, x) == expected, (name, exponent)


def derivatives(power):
    """First and second derivatives of the elements, by several ways."""
    def first(x):
        return flambeau.func.grad(lambda v: power(v).sum())(x)

    def second(x):
        return flambeau.func.grad(lambda v: first(v).sum())(x)

    def taped(x):
        v = x.clone().requires_grad_()
        return flambeau.autograd.grad(power(v).sum(), v, create_graph=True)[0], v

    def taped_twice(x):
        g, v = taped(x)
        if not g.requires_grad:
            return flambeau.zeros_like(v)
        return flambeau.autograd.grad(g.sum(), v, allow_unused=True, materialize_grads=True)[0]

    each = flambeau.func.vmap
    return {
        "first": [lambda x: taped(x)[0], first, each(flambeau.func.grad(power)),
                  flambeau.compile(first), flambeau.compile(each(flambeau.func.grad(power)))],
        "second": [taped_twice, second, flambeau.compile(second)],
    }


@pytest.mark.parametrize("exponent", NUMBERS, ids=repr)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_every_way_gives_the_same_gradient(dtype, exponent):
    x = flambeau.tensor(REAL, dtype=getattr(flambeau, dtype))
    for order, computed in derivatives(lambda v: v ** exponent).items():
        found = [outcome(way, x) for way in computed]
        assert found == [found[0]] * len(found), order


def differing(given, expected, dtype):
    """Indices where numbers are not PyTorch's: special values exactly, others in the last bits."""
    a, b = same_nan(given), same_nan(expected)
    ends = (a == 0) | (b == 0) | ~numpy.isfinite(a) | ~numpy.isfinite(b)
    tiny = numpy.finfo(a.dtype).smallest_subnormal
    with numpy.errstate(all="ignore"):
        near = numpy.abs(a - b) <= 1.5 * STEP[dtype] * numpy.abs(b) + tiny
    exact = (a == b) & (numpy.signbit(a) == numpy.signbit(b)) | numpy.isnan(a) & numpy.isnan(b)
    return numpy.nonzero(~numpy.where(ends, exact, near))[0].tolist()


@pytest.mark.oracle
@pytest.mark.parametrize("exponent", NUMBERS, ids=repr)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_values_and_gradients_are_pytorchs(dtype, exponent):
    torch = pytest.importorskip("torch")
    values = REAL
    if dtype == "float16" and abs(exponent) in (0.5, 2.5):  # roots; PyTorch's own on the GPU alone
        values = tuple(v for v in REAL if v > 1e-30)

    def computed(lib):
        x = lib.tensor(values, dtype=getattr(lib, dtype), requires_grad=True)
        y = x ** exponent
        slope, = lib.autograd.grad(y.sum(), x, create_graph=True)
        if not slope.requires_grad:
            return y, slope, lib.zeros_like(x)
        return y, slope, lib.autograd.grad(slope.sum(), x, allow_unused=True,
                                           materialize_grads=True)[0]

    for order, (a, b) in enumerate(zip(computed(flambeau), computed(torch), strict=True)):
        assert [values[i] for i in differing(a, b, dtype)] == [], (order, a, b)


@pytest.mark.oracle
@pytest.mark.parametrize("exponent", EXPONENTS, ids=repr)
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "bool", "complex64", "complex128"])
def test_values_of_other_dtypes_are_pytorchs(dtype, exponent):
    torch = pytest.importorskip("torch")
    values = VALUES[dtype]
    x = torch.tensor(values, dtype=getattr(torch, dtype))
    y = flambeau.tensor(values, dtype=getattr(flambeau, dtype))
    try:
        expected = x ** exponent
    except RuntimeError:
        pytest.raises(RuntimeError, lambda: y ** exponent)
        return
    result = y ** exponent
    assert str(result.dtype).rpartition(".")[2] == str(expected.dtype).rpartition(".")[2]
    if not dtype.startswith("complex"):
        numpy.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=2.0**-22)
        return
    if not numpy.isfinite(exponent):
        return
    a, b = result.numpy(), expected.numpy()
    with numpy.errstate(all="ignore"):
        near = numpy.abs(a - b) <= 16 * STEP[dtype] * numpy.abs(b)
    assert (near | ~numpy.isfinite(a) & ~numpy.isfinite(b)).all(), (a, b)


def test_a_number_given_to_the_run_chooses_the_formula():
    """A graph whose exponent is known only when it runs."""
    x = flambeau.tensor(REAL)
    power = flambeau.compile(lambda v, p: (v ** p) * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for exponent in EXPONENTS:
            expected = outcome(lambda v, p=exponent: (v ** p) * 2, x)
            assert outcome(lambda v, p=exponent: power(v, p), x) == expected, exponent
