"""Every byte but 0 of a Boolean is true, and only so much: which byte it is makes no difference."""
import pytest

import flambeau as fl

BYTES = fl.tensor([[0, 2, 255, 0, 7, 1], [1, 3, 3, 0, 2, 2]], dtype=fl.uint8)
ROWS = fl.tensor([[0, 0, 1, 1, 0, 1]])


@pytest.mark.parametrize("name", ["cummax", "cummin", "max", "min", "argmax", "argmin", "amax",
                                  "amin", "any", "all", "sum", "prod", "cumsum", "cumprod", "sort"])
@pytest.mark.parametrize("dim", [0, 1])
def test_along_a_dimension(name, dim):
    odd, plain = (getattr(fl, name)(x, dim=dim) for x in (BYTES.view(fl.bool), BYTES != 0))
    pairs = zip(odd, plain, strict=True) if isinstance(odd, tuple) else [(odd, plain)]
    assert all(a.tolist() == b.tolist() for a, b in pairs)


@pytest.mark.parametrize("reduce", ["sum", "prod", "amin", "amax", "mean"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("form", ["scatter_reduce", "scatter_reduce_"])
def test_scattered(reduce, include_self, form):
    def reduced(x):
        return getattr(x.clone(), form)(0, ROWS.expand(2, 6), x, reduce,
                                        include_self=include_self)

    odd, plain = BYTES.view(fl.bool), BYTES != 0
    assert reduced(odd).tolist() == reduced(plain).tolist()
    assert reduced(odd.mT.contiguous().mT).tolist() == reduced(plain).tolist()


def test_a_long_row():
    many = fl.arange(100_001, dtype=fl.int64).remainder(251).to(fl.uint8)
    assert many.view(fl.bool).max(0).indices.item() == 1
    assert many.view(fl.bool).argmin().item() == 0
