"""index_put of one value where a mask holds, and the gradient of masked_select."""

from __future__ import annotations

import pytest

import flambeau as fb


@pytest.mark.parametrize("dtype", (fb.float32, fb.float64, fb.bfloat16, fb.int64, fb.bool,
                                   fb.complex64))
def test_one_value(dtype):
    fb.manual_seed(3)
    x = (fb.randn(5, 6, 7) * 4).to(dtype)
    value = fb.ones((), dtype=dtype)
    for base in (x, x.transpose(0, 2), x[::2], x[:0]):
        for dims in (1, 2, 3):
            mask = fb.rand(base.shape[:dims]) > 0.5
            shape = (*mask.shape, *(1,) * (base.ndim - dims))
            wanted = fb.where(mask.reshape(shape), value, base)
            before = base.clone()
            assert fb.equal(base.index_put((mask,), value), wanted)
            assert fb.equal(base, before)
            assert fb.equal(base.clone().index_put_((mask,), value), wanted)
            longer = value.expand(int(mask.sum()), *base.shape[dims:])
            assert fb.equal(base.index_put((mask,), longer), wanted)


def test_other_calls_are_as_before():
    x = fb.zeros(3, 2)
    rows = fb.tensor([True, False, True])
    one = fb.tensor(1.0)
    assert x.index_put((rows,), one, accumulate=True).tolist() == [[1, 1], [0, 0], [1, 1]]
    assert x.index_put((rows, fb.tensor(1)), one).tolist() == [[0, 1], [0, 0], [0, 1]]
    assert x.index_put((fb.tensor([2, 0]),), one).tolist() == [[1, 1], [0, 0], [1, 1]]
    assert x.index_put((None, fb.tensor([True, False])), one).tolist() == [[1, 0]] * 3
    assert x.index_put((fb.tensor(True),), one).tolist() == [[1, 1]] * 3
    assert x.index_put((fb.tensor(False),), one).tolist() == [[0, 0]] * 3
    two = fb.tensor([5.0, 6.0])
    assert x.index_put((fb.tensor(True),), two).tolist() == [[5, 6]] * 3
    assert x.index_put((fb.tensor(False),), two).tolist() == [[0, 0]] * 3
    assert x.index_put((fb.tensor(1), fb.tensor(True)), two).tolist() == [[0, 0], [5, 6], [0, 0]]
    own = x.clone()
    assert own.index_put_((fb.tensor(True),), two, accumulate=True) is own
    assert own.tolist() == [[5, 6]] * 3
    with pytest.raises(IndexError, match="does not match the shape"):
        x.index_put((fb.tensor([True, False]),), one)
    with pytest.raises(RuntimeError, match="dtype"):
        x.index_put((rows,), fb.tensor(1))


def test_gradients():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x = fb.arange(6.0, dtype=fb.float64).reshape(2, 3).requires_grad_()
    mask = fb.tensor([[True, False, True], [False, True, False]])
    for columns in (mask, mask[0], mask[:, :1]):
        weights = columns.expand(2, 3).double()
        (got,) = fb.autograd.grad(x.masked_select(columns).square().sum(), x, create_graph=True)
        assert fb.equal(got, 2 * x * weights)
        assert fb.equal(fb.autograd.grad(got.sum(), x)[0], 2 * weights)
    value = fb.tensor(3.0, dtype=fb.float64, requires_grad=True)
    y = x.index_put((mask,), value)
    dx, dvalue = fb.autograd.grad((y * fb.arange(6.0).reshape(2, 3)).sum(), (x, value))
    assert dx.tolist() == [[0, 1, 0], [3, 0, 5]] and dvalue.item() == 0 + 2 + 4
