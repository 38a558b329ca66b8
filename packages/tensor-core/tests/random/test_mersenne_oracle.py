"""The same seed, the same numbers and the same state afterwards as in PyTorch, bit for bit."""
from __future__ import annotations

import pytest

import flambeau

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.oracle

FLOATING = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
SIZES = (1, 5, 15, 16, 17, 100, 10_007)


@pytest.fixture(autouse=True)
def _twister():
    flambeau.random.set_algorithm("mt19937")
    yield
    flambeau.random.set_algorithm("philox")


def check(draw, *given):
    """Draw in both libraries, three times in a row, and compare."""
    torch.manual_seed(1234)
    flambeau.manual_seed(1234)
    for _ in range(3):
        ours, theirs = draw(flambeau, *given), draw(torch, *given)
        assert [str(x) for x in ours.flatten().tolist()] == [
            str(x) for x in theirs.flatten().tolist()]
    assert flambeau.get_rng_state().tolist() == torch.get_rng_state().tolist()


FILLS = {
    "rand": lambda x: x.uniform_(), "uniform": lambda x: x.uniform_(-0.3, 0.7),
    "randn": lambda x: x.normal_(), "normal": lambda x: x.normal_(0.5, 0.02),
    "bernoulli": lambda x: x.bernoulli_(0.3), "exponential": lambda x: x.exponential_(2.5),
    "cauchy": lambda x: x.cauchy_(), "log_normal": lambda x: x.log_normal_(),
    "geometric": lambda x: x.geometric_(0.3), "random": lambda x: x.random_(),
}


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["rand", "randn"])
def test_pairs_of_halves(name, size):
    def draw(lib):
        numbers = getattr(lib, name)(size, dtype=lib.complex32)
        return lib.view_as_real(numbers)

    check(draw)


def test_sparse_matrices():
    init = pytest.importorskip("flambeau.nn", reason="needs flambeau-nn").init
    made = {flambeau: init.sparse_, torch: torch.nn.init.sparse_}
    check(lambda lib: made[lib](lib.empty(7, 5), 0.3))


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("fill", FILLS)
def test_fills(fill, dtype):
    for size in SIZES:
        check(lambda lib, size: FILLS[fill](lib.empty(size, dtype=getattr(lib, dtype))), size)
    for shape, order in (((3, 4, 5), (2, 0, 1)), ((40, 50), (1, 0))):
        check(lambda lib, shape, order: FILLS[fill](
            lib.empty(shape, dtype=getattr(lib, dtype)).permute(order)), shape, order)
        check(lambda lib, shape: FILLS[fill](
            lib.zeros(shape, dtype=getattr(lib, dtype))[..., ::2]), shape)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATING)
def test_integers(dtype):
    check(lambda lib: lib.empty(999, dtype=getattr(lib, dtype)).random_())
    check(lambda lib: lib.randint(3, 17, (999,), dtype=getattr(lib, dtype)))
    check(lambda lib: lib.empty(99, dtype=getattr(lib, dtype)).bernoulli_(
        lib.linspace(0, 1, 99)))


@pytest.mark.parametrize("high", [2 ** 28 - 1, 2 ** 28, 2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 62,
                                  2 ** 63 - 1])
def test_ranges(high):
    check(lambda lib: lib.randint(high, (99,)))
    check(lambda lib: lib.randint(-high, 5, (99,)))
    check(lambda lib: lib.empty(99, dtype=lib.int64).random_(-2 ** 63, None))
    check(lambda lib: lib.empty(99, dtype=lib.int64).random_(5, None))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_choices(dtype):
    for width, again, count in ((10, True, 20), (10, False, 4), (500, False, 500), (99, True, 1)):
        check(lambda lib, width, again, count: lib.multinomial(
            (lib.arange(2 * width) % 7 + 1).reshape(2, width).to(getattr(lib, dtype)), count,
            replacement=again), width, again, count)
    check(lambda lib: lib.bernoulli(lib.linspace(0, 1, 99, dtype=getattr(lib, dtype))))


def test_the_rest():
    for size in (0, 1, 2, 1000):
        check(lambda lib, size: lib.randperm(size), size)
    check(lambda lib: lib.poisson(lib.linspace(0, 50, 300)))
    check(lambda lib: lib.binomial(lib.full((300,), 20.0), lib.linspace(0, 1, 300)))
    check(lambda lib: lib.view_as_real(lib.randn(9, dtype=lib.complex128)))
    check(lambda lib: lib.normal(lib.arange(40.0), 0.5))
    for p in (0.1, 0.3, 0.5, 0.9):
        check(lambda lib, p: (lib if lib is torch else lib.core.ops).dropout(
            lib.arange(99.0), p, True), p)


def test_states_go_over():
    torch.manual_seed(9)
    torch.randn(3)
    flambeau.set_rng_state(flambeau.tensor(torch.get_rng_state().tolist(), dtype=flambeau.uint8))
    assert flambeau.randn(40).tolist() == torch.randn(40).tolist()
