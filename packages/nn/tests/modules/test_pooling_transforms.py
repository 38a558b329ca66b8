"""Pooling to one element, which other operators stand for, under transforms."""
import pytest

import flambeau
import flambeau.nn.functional as F


@pytest.mark.parametrize("pool", [
    F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d,
    F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d])
def test_to_one_element(pool):
    func = pytest.importorskip("flambeau.func", reason="needs flambeau-autograd")
    dims = int(pool.__name__[-2])
    x = flambeau.arange(24.0).view(3, 2, 4, *[1] * (dims - 1))

    def pooled(one):
        return pool(one, 1)

    expected = flambeau.stack([pooled(one) for one in x])
    assert flambeau.equal(func.vmap(pooled)(x), expected)
    values, tangents = func.jvp(pooled, (x[0],), (flambeau.ones_like(x[0]),))
    assert flambeau.equal(values, expected[0])
    assert tangents.flatten().tolist() == [1, 1]


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_adaptive_pooling_of_nothing_and_of_integers(dims):
    for kind in ("avg", "max"):
        pool = getattr(F, f"adaptive_{kind}_pool{dims}d")
        assert tuple(pool(flambeau.ones([0] + [4] * dims), 2).shape) == (0, *[2] * dims)
        with pytest.raises(NotImplementedError, match="floating"):
            pool(flambeau.ones([2] + [4] * dims, dtype=flambeau.int64), 2)


def test_fractional_pooling_to_nothing():
    values, indices = F.fractional_max_pool2d(flambeau.ones(2, 3, 8, 8), 2, output_size=(0, 1),
                                             return_indices=True)
    assert tuple(values.shape) == tuple(indices.shape) == (2, 3, 0, 1)
    assert indices.dtype is flambeau.int64
