"""Batches of compressed matrices, whose parts have dimensions before those of a matrix."""
import pytest

import flambeau

LAYOUTS = ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
DENSE = flambeau.tensor([[0.0, 1, 0, 2], [3, 0, 0, 0]])
BATCH = flambeau.stack([DENSE, DENSE.flip(1), DENSE.flip(0)])


def made(x, layout, dense_dim=None):
    blocks = {"blocksize": (1, 2)} if layout[7] == "b" else {}
    return x.to_sparse(layout=getattr(flambeau, layout), dense_dim=dense_dim, **blocks)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(3,), (3, 1), (0,)])
def test_batches_keep_their_elements(layout, shape):
    dense = BATCH.reshape(*shape, 2, 4) if 0 not in shape else BATCH[:0]
    x = made(dense, layout)
    assert (x.shape, x.sparse_dim(), x.dense_dim()) == (dense.shape, 2, 0)
    assert x.to_dense().tolist() == dense.tolist()
    assert x.to_sparse_coo().to_dense().tolist() == dense.tolist()
    assert x.transpose(-1, -2).to_dense().tolist() == dense.transpose(-1, -2).tolist()
    assert (x + x * 2).to_dense().tolist() == (dense * 3).tolist()
    assert x.clone().to_dense().tolist() == x.detach().to_dense().tolist() == dense.tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("other", LAYOUTS)
def test_layouts_are_converted_and_dense_dimensions_kept(layout, other):
    dense = flambeau.stack([DENSE, DENSE * 2, -DENSE], -1)
    x = made(dense, layout, dense_dim=1)
    assert (x.sparse_dim(), x.dense_dim()) == (2, 1)
    assert made(x, other).to_dense().tolist() == dense.tolist()


def test_parts_of_a_batch():
    x = made(BATCH, "sparse_csr")
    assert x.crow_indices().tolist() == [[0, 2, 3], [0, 2, 3], [0, 1, 3]]
    assert x.col_indices().tolist() == [[1, 3, 0], [0, 2, 3], [0, 1, 3]]
    assert x.values().tolist() == [[1, 2, 3], [2, 1, 3], [3, 1, 2]] and x._nnz() == 3
    assert x[2].crow_indices().tolist() == [0, 1, 3]
    assert x[1, 0, 2].item() == 1
    with pytest.raises(RuntimeError, match="batched"):
        x.select(1, 0)
    narrow = flambeau.sparse_csr_tensor(x.crow_indices().int(), x.col_indices().int(), x.values())
    assert narrow.to_sparse_csc().row_indices().dtype == flambeau.int32


def test_matrices_of_a_batch_store_as_many_elements():
    with pytest.raises(RuntimeError, match="same number of specified elements per batch"):
        flambeau.stack([DENSE, DENSE * 0]).to_sparse_csr()
    with pytest.raises(RuntimeError, match="never fall"):
        flambeau.sparse_csr_tensor([[0, 1], [1, 1]], [[0], [0]], [[1.0], [1.0]])
    with pytest.raises(RuntimeError, match="batches of"):
        flambeau.sparse_csr_tensor([[0, 1]], [[0], [0]], [[1.0], [1.0]])


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_sums_along_rows_and_columns(dtype):
    dense = flambeau.tensor([[0, 2, 3], [0, 0, 0], [0, 5, 0]]).to(getattr(flambeau, dtype))
    for x in (dense, dense * 0 if dtype != "bool" else dense & False):
        for dim in (0, 1, (0, 1)):
            total = x.to_sparse_csr().sum(dim, keepdim=True)
            assert total.layout == flambeau.sparse_csr
            assert total.to_dense().tolist() == x.sum(dim, keepdim=True).tolist()


def test_writes_that_rearrange_elements():
    x = DENSE.to_sparse()
    assert x.t_() is x and x.to_dense().tolist() == DENSE.t().tolist()
    x.transpose_(0, 1).unsqueeze_(0)
    assert x.to_dense().tolist() == [DENSE.tolist()]
    assert x.squeeze_().to_dense().tolist() == DENSE.tolist()
    rows = DENSE.to_sparse_csr()
    assert rows.resize_(1, 5).to_dense().tolist() == [[0, 1, 0, 2, 0]]
    assert rows.resize_(2, 5).to_dense().tolist() == [[0, 1, 0, 2, 0], [0] * 5]


def test_methods_asked_of_the_class():
    coo, csr = DENSE.to_sparse(), DENSE.to_sparse_csr()
    of = flambeau.Tensor
    assert of.indices(coo).tolist() == coo.indices().tolist()
    assert of.crow_indices(csr).tolist() == [0, 2, 3]
    assert (of.sparse_dim(coo), of.dense_dim(csr), of._nnz(csr)) == (2, 0, 3)
    assert of.detach(csr).layout == flambeau.sparse_csr


def test_products_with_dense_tensors_of_other_shapes():
    row = DENSE[:1].to_sparse()
    column = flambeau.tensor([[2.0], [3.0]])
    assert (row * column).to_dense().tolist() == (DENSE[:1] * column).tolist()
    assert (row * BATCH).to_dense().tolist() == (DENSE[:1] * BATCH).tolist()
    twice = row * flambeau.tensor(2.0).to_sparse()
    assert twice.to_dense().tolist() == (DENSE[:1] * 2).tolist()
    assert (row * flambeau.ones(0, 4)).shape == (0, 4)


def test_products_check_columns_of_every_width():
    for width in (1, 3, 16, 70):
        for dtype in (flambeau.float32, flambeau.float64):
            x = flambeau.arange(5 * width, dtype=dtype).reshape(5, width)
            starts, columns = flambeau.tensor([0, 6, 6, 7]), flambeau.tensor([0, 4, 1, 1, 2, 3, 4])
            values = flambeau.tensor([1, 2, 3, 4, 5, 6, 7], dtype=dtype)
            matrix = flambeau.sparse_csr_tensor(starts, columns, values, (3, 5))
            assert (matrix @ x).tolist() == (matrix.to_dense() @ x).tolist()
            for bad in (5, -1, 2**63 - 1, -2**63):
                columns[3] = bad
                with pytest.raises(IndexError, match="out of range"):
                    matrix @ x
                columns[3] = 1
