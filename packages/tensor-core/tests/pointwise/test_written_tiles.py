"""Outputs written over operands of half precision, which are converted tile by tile."""
import pytest

import flambeau
from flambeau.core import register_op, update

FORMULA = "fma(s, c, a) - sin(b), exp(b) * c + a"
SCHEMA = "written_tiles(Tensor(!) a, Tensor(!) b, Tensor c, *, Float s) -> (Tensor a, Tensor b)"


@pytest.fixture(scope="module")
def row():
    return register_op(SCHEMA, float=FORMULA, differentiable=False)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("n", [1, 63, 2047, 2049, 70_001])
@pytest.mark.parametrize("dtype", [flambeau.bfloat16, flambeau.float16])
def test_a_row_computes_in_float32_and_rounds_once(row, dtype, n, stride):
    flambeau.manual_seed(n)
    halves = [flambeau.randn(2 * n).to(dtype)[::stride][:n] for _ in range(3)]
    floats = [half.float() for half in halves]
    update(row, [[half] for half in halves], [0.5])
    update(row, [[single] for single in floats], [0.5])
    for half, single in zip(halves, floats, strict=True):
        assert flambeau.equal(half, single.to(dtype))


@pytest.mark.parametrize("dtype", [flambeau.bfloat16, flambeau.float16])
def test_in_place_is_what_out_of_place_gives(dtype):
    flambeau.manual_seed(0)
    a, b = (flambeau.randn(3 * 2048 + 5).to(dtype) for _ in range(2))
    for name, operands in (("mul_", ["self"]), ("addcmul_", ["self", b]), ("sin_", [])):
        x = a.clone()
        given = [x if operand is not b else b for operand in operands]
        want = getattr(a, name[:-1])(*(a if operand is not b else b for operand in operands))
        assert flambeau.equal(getattr(x, name)(*given), want), name
