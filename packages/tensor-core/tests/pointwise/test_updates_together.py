"""Update rules over many tensors at once give what they give one tensor after the other."""
import pytest

import flambeau
from flambeau.core import register_op, update

SCHEMA = "updates_together(Tensor(!) a, Tensor(!) b, Tensor c, *, Float s) -> (Tensor a, Tensor b)"
FORMULA = "fma(s, c, a) / (abs(b) + s), sqrt(abs(b)) * c + a"
SHAPES = [(3,), (), (0, 4), (1,), (40_000,), (7, 5), (65_537,), (2, 0), (1025,)]


@pytest.fixture(scope="module")
def rule():
    return register_op(SCHEMA, float=FORMULA, differentiable=False)


def rows(shapes, dtype=flambeau.float32):
    flambeau.manual_seed(len(shapes))
    return [[flambeau.randn(shape, dtype=dtype) for _ in range(3)] for shape in shapes]


def copies(of):
    """The same values, where no two tensors share memory."""
    return [[t.clone() for t in row] for row in of]


def together(rule, given):
    update(rule, [list(column) for column in zip(*given, strict=True)], [0.75])


def one_by_one(rule, given):
    for row in given:
        together(rule, [row])


def same_bits(one, other):
    as_bytes = (t.contiguous().view(-1).view(flambeau.uint8) for t in (one, other))
    return flambeau.equal(*as_bytes)


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.bfloat16])
@pytest.mark.parametrize("count", [1, 2, len(SHAPES)])
def test_rows_do_not_know_of_each_other(rule, dtype, count):
    given = rows(SHAPES[:count], dtype)
    given[0][0].fill_(float("nan"))
    alone = copies(given)
    together(rule, given)
    one_by_one(rule, alone)
    for row, other in zip(given, alone, strict=True):
        for one, two in zip(row, other, strict=True):
            assert same_bits(one, two)


def test_every_written_tensor_counts_one_write(rule):
    given = rows(SHAPES)
    before = [[t._version for t in row] for row in given]
    together(rule, given)
    after = [[t._version for t in row] for row in given]
    assert after == [[a + 1, b + 1, c] for a, b, c in before]


def strided(n=40_000):
    return flambeau.randn(2 * n)[::2]


@pytest.mark.parametrize("odd", [
    lambda: [strided(), flambeau.randn(40_000), flambeau.randn(40_000)],
    lambda: [flambeau.randn(5).double() for _ in range(3)],
    lambda: [flambeau.randn(4, 6).t() for _ in range(3)],
    lambda: [flambeau.randn(4, 6), flambeau.randn(4, 6), flambeau.randn(6)],
])
@pytest.mark.parametrize("place", [0, 1])
def test_what_is_not_plain_takes_part(rule, odd, place):
    flambeau.manual_seed(3)
    given = rows([(9,), (50_000,)])
    given.insert(place, odd())
    alone = copies(given)
    together(rule, given)
    one_by_one(rule, alone)
    for row, other in zip(given, alone, strict=True):
        assert all(same_bits(one, two) for one, two in zip(row, other, strict=True))


def test_shared_memory_is_updated_in_order(rule):
    """What one row writes the next one reads, and twice the same row is two updates."""
    memory = flambeau.randn(100_000)
    a, b, c = memory[:40_000], memory[40_000:80_000], flambeau.randn(40_000)
    overlapping = memory[20_000:60_000]
    given = [[a, b, c], [c, flambeau.randn(40_000), overlapping], [a, b, c]]
    whole = memory.clone()
    other_c = c.clone()
    alone = [[whole[:40_000], whole[40_000:80_000], other_c],
             [other_c, given[1][1].clone(), whole[20_000:60_000]],
             [whole[:40_000], whole[40_000:80_000], other_c]]
    together(rule, given)
    one_by_one(rule, alone)
    assert same_bits(memory, whole) and same_bits(c, other_c)


def test_what_cannot_be_written_is_refused(rule):
    given = rows([(3,), (4,)])
    given[1][0] = flambeau.randn(1).expand(4)
    with pytest.raises(RuntimeError, match="single memory location"):
        together(rule, given)


def test_inference_tensors_are_refused(rule):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    given = rows([(3,), (4,)])
    with flambeau.inference_mode():
        given[1][0] = flambeau.randn(4)
    with pytest.raises(RuntimeError, match="nference"):
        together(rule, given)


def test_operands_are_tensors(rule):
    for wrong in (None, 3.0, [1.0]):
        with pytest.raises(TypeError, match="lists of tensors"):
            update(rule, [[flambeau.ones(3)], [wrong], [flambeau.ones(3)]], [0.5])
    with pytest.raises(ValueError, match="same length"):
        update(rule, [[flambeau.ones(3)], [], []], [0.5])
    update(rule, [[], [], []], [0.5])
