"""Powers by a number: the kernels of the formula with the number in it, and the CPU's bits."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.core.opdefs import by_name
from flambeau.cuda import source

INF, NAN = float("inf"), float("nan")
EXPONENTS = (0, 0.5, -0.5, 1, -1, 2.0, -2, 3, 3.0, -3, 4, 2.5, INF, NAN, True)
REAL = [-0.0, 0.0, 1.0, -1.0, INF, -INF, NAN, 1e-40, -1e-310, 2.0, -3.7, 1e30, 6e4, 1e-3]
COMPLEX = [complex(a, b) for a in (0.0, 1.0, -2.5) for b in (0.0, 1.0, -0.3)]


@pytest.mark.parametrize("exponent", EXPONENTS, ids=repr)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64",
                                   "complex128", "int32", "uint8"])
def test_powers_have_the_bits_of_the_cpu(simulated, dtype, exponent):
    values = {"c": COMPLEX, "i": [0, 1, 2, -3, 7], "u": [0, 1, 2, 3, 7]}.get(dtype[0], REAL)
    x = flambeau.tensor(values, dtype=getattr(flambeau, dtype))
    if dtype in ("int32", "uint8") and type(exponent) is int and exponent < 0:
        pytest.raises(RuntimeError, lambda: x.to("cudasim") ** exponent)
        return
    for operand in (x, flambeau.stack([x, x], 1)[:, 0]):
        want, got = operand ** exponent, (operand.to("cudasim") ** exponent).cpu()
        assert got.dtype == want.dtype
        both = [(v.float() if dtype == "bfloat16" else v).numpy() for v in (got, want)]
        np.testing.assert_array_equal(*both)
        if both[0].dtype.kind == "f":
            there = ~np.isnan(both[0])
            assert (np.signbit(both[0]) == np.signbit(both[1]))[there].all()


def test_the_text_has_kernels_of_the_exponents_of_the_definition(simulated):
    (flambeau.ones(3).to("cudasim") ** 0.5).cpu()
    name = "k_pow__at_0_5_f32_near"
    assert simulated.launches(source.group_of("pow__at_0_5"), "f32", name)
    for value in by_name("pow").literals["exponent"]:
        name = f"pow__at_{value:g}".replace("-", "minus_").replace(".", "_")
        text = source.pointwise_source(source.find_opdef(name), "f32")
        assert "exponent" not in text and "pow(" not in text
