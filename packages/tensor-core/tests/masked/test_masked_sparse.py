"""Reductions of sparse tensors, compared with those of dense ones where something is stored."""
from __future__ import annotations

import warnings

import pytest

import flambeau as fl
from flambeau import masked

DATA = fl.tensor([[1.0, 0, -3, 0], [0, 0, 0, 0], [2, 5, 0, -7]])
MASK = fl.tensor([[True, True, False, False], [False] * 4, [True, True, True, False]])
NAMES = ("sum", "prod", "amax", "amin", "mean", "var", "norm")


def called(name, x, dim, **options):
    given = (2.0, dim) if name == "norm" else (dim,)
    return getattr(masked, name)(x, *given, **options)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
@pytest.mark.parametrize("dim", [0, 1, (0, 1), None])
@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_dense_tensors_where_something_took_part(name, dim, layout):
    sparse = DATA.to_sparse() if layout == "sparse_coo" else DATA.to_sparse_csr()
    for mask in (None, MASK, MASK.to_sparse()):
        wanted = MASK if mask is not None else DATA != 0
        dense = called(name, DATA, dim, keepdim=True, mask=wanted)
        left = wanted.any((0, 1) if dim is None else dim, keepdim=True)
        found = called(name, sparse, dim, keepdim=True, mask=mask)
        assert str(found.layout) == f"flambeau.{layout}"
        stored = found.to_dense()
        assert fl.where(left, stored, 0).allclose(fl.where(left, dense, 0), equal_nan=True)
        assert found._nnz() == int(left.sum())


def test_zeros_that_are_stored_take_part():
    x = fl.sparse_coo_tensor([[0, 0], [0, 2]], [0.0, -4.0], (2, 3))
    assert masked.amax(x, 1).to_dense().tolist() == [0.0, 0.0]
    assert masked.mean(x, 1).to_dense().tolist() == [-2.0, 0.0]
    twice = fl.sparse_coo_tensor([[0, 0], [2, 2]], [1.0, 2.0], (2, 3))
    assert masked.prod(twice, 1).to_dense().tolist() == [3.0, 0.0]


def test_hybrid_empty_and_whole_results():
    hybrid = fl.sparse_coo_tensor([[1]], [[2.0, 3.0]], (3, 2))
    assert masked.sum(hybrid, 0).to_dense().tolist() == [2.0, 3.0]
    empty = fl.sparse_coo_tensor(fl.empty(2, 0, dtype=fl.int64), [], (2, 3))
    assert masked.sum(empty, 1)._nnz() == 0 and masked.sum(empty).to_dense().item() == 0
    assert masked.sum(DATA.to_sparse()).to_dense().item() == -2
    for dtype in (fl.int64, fl.bool, fl.float16, fl.complex64):
        x = DATA.to(dtype).to_sparse()
        assert masked.prod(x, 1).to_dense()[2].item() == fl.masked.prod(
            DATA.to(dtype), 1, mask=DATA != 0)[2].item()


def test_gradients_go_to_what_is_stored():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    values = fl.tensor([1.0, 2.0, 5.0], requires_grad=True)
    x = fl.sparse_coo_tensor([[0, 1, 1], [0, 1, 2]], values, (2, 3))
    masked.prod(x, 1).to_dense().sum().backward()
    assert values.grad.tolist() == [1.0, 5.0, 2.0]


def test_matrices_stay_matrices():
    with pytest.raises(ValueError, match="keepdim=True"):
        masked.sum(DATA.to_sparse_csr(), 1)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin"])
@pytest.mark.parametrize("dim", [0, 1])
def test_like_pytorch(name, dim):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(torch.masked, name)(
            torch.tensor(DATA.tolist()).to_sparse(), dim, mask=torch.tensor(
                MASK.tolist()).to_sparse()).to_dense()
    left = MASK.any(dim)
    ours = called(name, DATA.to_sparse(), dim, mask=MASK.to_sparse()).to_dense()
    assert ours[left].tolist() == fl.tensor(theirs.tolist())[left].tolist()


def test_masked_tensors_change_their_layout():
    dense = masked.masked_tensor(DATA, MASK)
    for name, layout in (("to_sparse", fl.sparse_coo), ("to_sparse_coo", fl.sparse_coo),
                         ("to_sparse_csr", fl.sparse_csr)):
        sparse = getattr(dense, name)()
        assert sparse.layout is sparse.get_data().layout is sparse.get_mask().layout is layout
        assert sparse.get_data()._nnz() == int(MASK.sum())
        back = sparse.to_dense()
        assert back.get_mask().equal(MASK)
        assert back.to_tensor(9).equal(fl.where(MASK, DATA, 9)) and sparse.to_tensor(9).equal(
            back.to_tensor(9))
        assert repr(sparse) == repr(back) and (sparse * 2).to_tensor(0).equal(
            fl.where(MASK, DATA * 2, 0))
    with pytest.raises(ValueError, match="do not have is_contiguous"):
        dense.to_sparse().contiguous()


def test_masks_of_sparse_tensors_have_their_indices():
    mask = MASK.to_sparse()
    fitted = masked.masked_tensor(DATA.to_sparse(), (DATA > 1).to_sparse())
    assert fitted.get_data().to_dense().equal(fl.where(DATA > 1, DATA, 0))
    other = fl.tensor([[False, True, True, True]] + [[False] * 4, [True, True, False, False]])
    with pytest.raises(ValueError, match="same indices"):
        masked.masked_tensor(DATA.sparse_mask(mask), other.to_sparse())
    with pytest.raises(ValueError, match="crow or col"):
        masked.masked_tensor(DATA.sparse_mask(MASK.to_sparse_csr()), other.to_sparse_csr())
    with pytest.raises(TypeError, match="same layout"):
        masked.masked_tensor(DATA.to_sparse(), MASK)
    with pytest.raises(TypeError, match="sparse_csc is not supported"):
        masked.masked_tensor(DATA.to_sparse_csc(), MASK.to_sparse_csc())


def test_what_a_masked_tensor_is_not_made_of():
    whole = masked.masked_tensor(DATA, MASK)
    for data, mask in ((DATA, whole), (DATA, 0), (whole, MASK), (0, MASK)):
        with pytest.raises(TypeError, match="must be a Tensor"):
            masked.masked_tensor(data, mask)


def test_gradients_pass_layouts():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x = masked.masked_tensor(DATA, MASK, requires_grad=True)
    (x.to_sparse().to_dense() * fl.arange(12.0).reshape(3, 4)).sum().backward()
    assert x.grad.to_tensor(0).equal(fl.where(MASK, fl.arange(12.0).reshape(3, 4), 0))
    with pytest.warns(UserWarning, match="not recommended"):
        masked.masked_tensor(DATA.clone().requires_grad_(), MASK)


@pytest.mark.parametrize("name", ("sum", "prod", "amax", "amin", "mean"))
@pytest.mark.parametrize("keepdim", (False, True))
def test_no_dimensions_are_all_of_them(name, keepdim):
    x = fl.tensor([[1.0, 2.0], [0.0, 3.0]])
    mask = fl.tensor([[True, True], [False, True]])
    reduction = getattr(masked, name)
    wanted = reduction(x, (0, 1), keepdim=keepdim, mask=mask)
    found = reduction(x.to_sparse(), (), keepdim=keepdim, mask=mask.to_sparse())
    assert found.is_sparse and found.shape == wanted.shape
    assert found.to_dense().tolist() == wanted.tolist()
