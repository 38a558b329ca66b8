"""Loops are cut into equal shares; neither these nor the threads that take them change a bit."""
import numpy as np
import pytest

import flambeau
from flambeau.core import register_op, update

SIZES = [32_769, 34_400, 98_305, 235_146]
PIECE = 64 * 300        # below this much work nothing is shared


@pytest.fixture
def threads():
    before = flambeau.get_num_threads()
    yield flambeau.set_num_threads
    flambeau.set_num_threads(before)


@pytest.fixture(scope="module")
def rule():
    return register_op("even_shares(Tensor(!) a, Tensor b, *, Float s) -> (Tensor a)",
                       float="fma(s, b, a) - sin(b)", differentiable=False)


def in_pieces(f, x, piece):
    return np.concatenate([f(x[i : i + piece]).numpy() for i in range(0, len(x), piece)])


CALLS = {
    "exp": (flambeau.exp, 1),
    "strided": (lambda x: flambeau.tanh(x[:, ::2]), 4),
    "transposed": (lambda x: (x.t().contiguous().t() + x), 4),
    "softmax": (lambda x: flambeau.softmax(x, -1), 96),
    "log_softmax": (lambda x: flambeau.log_softmax(x, -1), 7),
    "layer_norm": (lambda x: flambeau.layer_norm(x, (96,), eps=1e-5), 96),
    "outer": (lambda x: x[:, :1] @ flambeau.linspace(-1, 1, 50).to(x.dtype).view(1, 50), 8),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", CALLS)
def test_all_shares_give_the_bits_of_small_calls(threads, name, n, dtype):
    call, width = CALLS[name]
    flambeau.manual_seed(n)
    x = flambeau.randn(n // width, width).to(getattr(flambeau, dtype))
    wide = (lambda x: call(x).float()) if dtype == "bfloat16" else call
    want = in_pieces(wide, x, PIECE // width)
    for count in (1, 2, 3):
        threads(count)
        np.testing.assert_array_equal(wide(x).numpy(), want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", SIZES)
def test_an_update_of_many_has_the_bits_of_one_by_one(threads, rule, n, dtype):
    flambeau.manual_seed(n)
    sizes = [5, n // 3, 64, 1, n - n // 3 - 70]
    a, b = ([flambeau.randn(k, dtype=getattr(flambeau, dtype)) for k in sizes] for _ in range(2))
    want = [x.clone() for x in a]
    for x, y in zip(want, b, strict=True):
        for i in range(0, len(x), PIECE):
            update(rule, [[x[i : i + PIECE]], [y[i : i + PIECE]]], [0.3])
    for count in (1, 2, 3):
        threads(count)
        found = [x.clone() for x in a]
        update(rule, [found, b], [0.3])
        for x, y in zip(found, want, strict=True):
            assert flambeau.equal(x, y)
