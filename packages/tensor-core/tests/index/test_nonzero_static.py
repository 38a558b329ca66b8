"""nonzero_static: the rows of nonzero, cut or filled to a number that shapes know."""
import random

import pytest

import flambeau as fl


def slowly(x, size, fill_value):
    rows = fl.nonzero(x).tolist()[:size]
    return rows + [[fill_value] * x.ndim] * (size - len(rows))


@pytest.mark.parametrize("seed", range(20))
def test_it_is_nonzero_cut_or_filled(seed):
    draw = random.Random(seed)
    shape = [draw.randint(0, 4) for _ in range(draw.randint(0, 3))]
    numbers = fl.tensor([draw.randint(0, 1) for _ in range(fl.Size(shape).numel())])
    x = numbers.reshape(shape).to(draw.choice([fl.bool, fl.float32, fl.int8, fl.complex64]))
    for y in (x, x.flip(-1) if x.ndim else x, x.mT if x.ndim > 1 else x):
        for size, fill_value in ((0, -1), (2, 7), (70, -3)):
            found = fl.nonzero_static(y, size=size, fill_value=fill_value)
            assert found.shape == (size, y.ndim) and found.dtype == fl.int64
            assert found.tolist() == slowly(y, size, fill_value)


def test_forms():
    x, out = fl.tensor([[1, 0], [0, 2]]), fl.zeros(3, 2, dtype=fl.int64)
    assert fl.nonzero_static(x, size=3, out=out) is out
    assert out.tolist() == x.nonzero_static(size=3).tolist() == [[0, 0], [1, 1], [-1, -1]]
    assert fl.nonzero_static(x.to("meta"), size=3).shape == (3, 2)
    with pytest.raises(RuntimeError, match="non-negative"):
        fl.nonzero_static(x, size=-1)


def test_samples_of_vmap_have_their_own_numbers():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    rows = fl.tensor([[1, 0, 1], [0, 0, 1]])
    found = fl.func.vmap(lambda x: fl.nonzero_static(x, size=2))(rows)
    assert found.tolist() == [[[0], [2]], [[2], [-1]]]
