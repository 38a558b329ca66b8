"""Masks of bytes, which are older than those of bools."""
import pytest

import flambeau


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1,), ()])
def test_where_of_bytes_chooses_as_where_of_bools(shape):
    mask = (flambeau.arange(6) % 3).to(flambeau.uint8).view(2, 3).mT.contiguous().mT
    mask = mask if shape == (2, 3) else mask[0] if shape == (3,) else mask.new_full(shape, 2)
    x = flambeau.arange(3.0)
    for a, b in ((x, -x), (x, 7.0), (1, 2), (x.long(), x), (x[:0], x[:0])):
        if shape in ((3,), (2, 3)) and isinstance(a, flambeau.Tensor) and not a.numel():
            continue
        with pytest.warns(UserWarning, match="uint8 condition"):
            got = flambeau.where(mask, a, b)
        assert flambeau.equal(got, flambeau.where(mask != 0, a, b))
    with pytest.raises(RuntimeError, match="must be a bool tensor, got int64"):
        flambeau.where(mask.long(), 1, 2)


def test_where_of_bytes_in_place_and_with_gradients():
    mask, x = flambeau.tensor([1, 0, 255], dtype=flambeau.uint8), flambeau.arange(3.0)
    with pytest.warns(UserWarning, match="uint8 condition"):
        flambeau.where(mask, -x, x, out=x)
    assert x.tolist() == [0.0, 1.0, -2.0]
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x.requires_grad_()
    with pytest.warns(UserWarning, match="uint8 condition"):
        x.where(mask, 0).sum().backward()
    assert x.grad.tolist() == [1.0, 0.0, 1.0]
