"""Sparse tensors against dense ones, over shapes, dtypes and layouts; and what is refused."""
import copy
import pickle

import numpy
import pytest

import flambeau
from flambeau import sparse

DTYPES = ("float32", "float64", "int64", "int16", "complex64", "bool")
LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
CASES = 60


def drawn(rng, dtype, *shape):
    values = rng.integers(-4, 5, shape)
    if dtype == "complex64":
        values = values + 1j * rng.integers(-4, 5, shape)
    return flambeau.from_numpy(values.astype(dtype))


def random_tensor(rng):
    """A sparse tensor, which may have no elements, or several at an index, and a dense one."""
    sparse_dim, dense_dim = int(rng.integers(1, 4)), int(rng.integers(0, 2))
    shape = tuple(int(n) for n in rng.integers(1, 5, sparse_dim + dense_dim))
    nnz, dtype = int(rng.choice([0, 1, 3, 12])), str(rng.choice(DTYPES))
    at = numpy.stack([rng.integers(0, n, nnz) for n in shape[:sparse_dim]])
    values = drawn(rng, dtype, nnz, *shape[sparse_dim:])
    x = flambeau.sparse_coo_tensor(flambeau.from_numpy(at), values, shape)
    dense = numpy.zeros(shape, dtype)
    for k in range(nnz):
        index = tuple(at[:, k])
        dense[index] = dense[index] + values[k].numpy()
    return (x.coalesce() if rng.random() < 0.5 else x), flambeau.from_numpy(dense)


def same(x, dense):
    """Whether a tensor of any layout has the elements of a dense one."""
    found = x.to_dense()
    assert found.dtype is dense.dtype and tuple(x.shape) == tuple(dense.shape)
    assert numpy.array_equal(found.numpy(), dense.numpy())


@pytest.mark.parametrize("seed", range(CASES))
def test_calls_agree_with_dense_ones(seed):
    rng = numpy.random.default_rng(seed)
    x, dense = random_tensor(rng)
    same(x, dense)
    same(x.coalesce(), dense)
    assert x.coalesce().is_coalesced()
    same(x.clone(), dense)
    same(pickle.loads(pickle.dumps(x)), dense)
    same(copy.deepcopy(x), dense)
    order = list(rng.permutation(x.sparse_dim())) + list(range(x.sparse_dim(), x.ndim))
    same(x.permute([int(d) for d in order]), dense.permute([int(d) for d in order]))
    dim = int(rng.integers(0, x.ndim))
    i = int(rng.integers(0, x.shape[dim]))
    same(x.select(dim, i), dense.select(dim, i))
    index = flambeau.from_numpy(rng.integers(0, x.shape[dim], 5))
    same(x.index_select(dim, index), dense.index_select(dim, index))
    same(x.unsqueeze(dim), dense.unsqueeze(dim))
    same(x.unsqueeze(dim).squeeze(dim), dense)
    same(flambeau.cat([x, x], dim), flambeau.cat([dense, dense], dim))
    same(flambeau.stack([x, x], dim), flambeau.stack([dense, dense], dim))
    same(x.narrow_copy(dim, i, 1), dense.narrow(dim, i, 1))
    assert flambeau.equal(x, dense.to_sparse(x.sparse_dim()))
    if dense.dtype.name != "bool":
        same(x * 3, dense * 3)
        same(-x, -dense)
        same(x + x, dense + dense)
        same(x - x.coalesce(), dense - dense)
        same(x * x, dense * dense)
        same(x * dense, dense * dense)
        same(dense + x, dense + dense)
        same(x.sum(), dense.sum())
        same(x.sum(dim), dense.sum(dim))
        same(flambeau.abs(x), abs(dense))


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("shape", [(4, 6), (0, 6), (2, 2)])
def test_matrices_in_every_layout(kind, shape):
    rng = numpy.random.default_rng(3)
    dense = drawn(rng, "float32", *shape) * drawn(rng, "bool", *shape)
    block = (2, 2) if kind.startswith("sparse_b") else None
    if 0 in shape and block:
        return
    x = dense.to_sparse(layout=getattr(flambeau, kind), blocksize=block)
    assert x.layout == getattr(flambeau, kind)
    assert isinstance(x, flambeau.Tensor) and x.is_sparse == (kind == "sparse_coo")
    same(x, dense)
    same(x.t(), dense.t())
    same(x.to_sparse_csr(), dense)
    same(x.to_sparse_coo(), dense)
    same(x * 2, dense * 2)
    same(x + x, dense * 2)
    same(x.double(), dense.double())
    other = drawn(rng, "float32", shape[1], 70)
    same(x @ other, dense @ other)
    same(other.t() @ x.t(), other.t() @ dense.t())
    same(x @ x.t(), dense @ dense.t())
    same(pickle.loads(pickle.dumps(x)), dense)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "bsc"])
def test_one_row_or_column_of_a_matrix_is_coalesced(kind):
    rng = numpy.random.default_rng(3)
    dense = flambeau.from_numpy(rng.integers(-1, 2, (6, 8)))
    blocks = ((2, 4),) if kind.startswith("bs") else ()
    x = getattr(dense, f"to_sparse_{kind}")(*blocks)
    for dim in (0, 1):
        for i in range(dense.shape[dim]):
            part = x.select(dim, i)
            same(part, dense.select(dim, i))
            assert part.is_coalesced() and (part.indices().diff() > 0).all()
            assert part.values().equal(part.to_dense()[part.indices()[0]])


@pytest.mark.parametrize("dtype", ["int64", "complex64", "float64", "float16"])
def test_products_in_other_dtypes(dtype):
    rng = numpy.random.default_rng(4)
    dense, other = drawn(rng, dtype, 5, 4), drawn(rng, dtype, 4, 3)
    same(dense.to_sparse() @ other, dense @ other)
    same(dense.to_sparse().mv(other[:, 0].contiguous()), dense @ other[:, 0])
    stack = flambeau.stack([dense.to_sparse()] * 2)
    same(flambeau.bmm(stack, flambeau.stack([other, other])),
         flambeau.stack([dense @ other] * 2))


def test_products_of_rows_that_are_read_by_several_threads():
    scipy_sparse = pytest.importorskip("scipy.sparse", reason="needs SciPy")
    matrix = scipy_sparse.random(500, 400, 0.05, "csr", random_state=0)
    x = flambeau.sparse_csr_tensor(flambeau.from_numpy(matrix.indptr),
                                   flambeau.from_numpy(matrix.indices),
                                   flambeau.from_numpy(matrix.data), matrix.shape)
    dense = numpy.random.default_rng(0).normal(size=(400, 130))
    numpy.testing.assert_allclose((x @ flambeau.from_numpy(dense)).numpy(), matrix @ dense)


def test_text_is_that_of_pytorch():
    x = flambeau.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    assert repr(x) == (
        "tensor(indices=tensor([[0, 1],\n"
        "                       [2, 0]]),\n"
        "       values=tensor([3., 4.]),\n"
        "       size=(2, 3), nnz=2, layout=flambeau.sparse_coo)")
    assert repr(x.to_sparse_csr()) == (
        "tensor(crow_indices=tensor([0, 1, 2]),\n"
        "       col_indices=tensor([2, 0]),\n"
        "       values=tensor([3., 4.]), size=(2, 3), nnz=2, layout=flambeau.sparse_csr)")


def test_coalesced_by_hand():
    x = flambeau.sparse_coo_tensor([[1, 0]], [3.0, 4.0], (2,))._coalesced_(True)
    assert x.is_coalesced() and x.values().tolist() == [3, 4]


def test_writes():
    x = flambeau.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [3.0, 4.0, 5.0], (2, 3))
    dense, version = x.to_dense(), x._version
    assert x.mul_(2) is x and x._version > version
    same(x, dense * 2)
    same(x.add_(x), dense * 4)
    total = flambeau.ones(2, 3)
    address = total.data_ptr()
    total += x
    assert total.data_ptr() == address
    same(total, dense * 4 + 1)
    total.copy_(x)
    same(total, dense * 4)
    row = flambeau.zeros(2, 3)
    row[1] = x[1]
    same(row[1], dense[1] * 4)
    same(x.zero_(), flambeau.zeros(2, 3))
    x.sparse_resize_((4, 5), 2, 0)
    assert tuple(x.shape) == (4, 5) and x._nnz() == 0


def test_switch_of_invariants():
    unsorted = ([0, 2], [1, 0], [3.0, 4.0])
    same(flambeau.sparse_csr_tensor(*unsorted), flambeau.tensor([[4.0, 3.0]]))
    with sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match="sorted"):
        flambeau.sparse_csr_tensor(*unsorted)


def matrix():
    return flambeau.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))


@pytest.mark.parametrize("call, text", [
    (lambda: flambeau.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (2,)), "found index 5"),
    (lambda: flambeau.sparse_coo_tensor([[0, -1]], [1.0, 2.0], (2,)), "negative index -1"),
    (lambda: flambeau.sparse_coo_tensor([[0, 1]], [1.0], (2,)), "number of indices"),
    (lambda: flambeau.sparse_coo_tensor([[0.5]], [1.0], (2,)), "int64"),
    (lambda: flambeau.sparse_coo_tensor([[1, 0]], [1.0, 2.0], is_coalesced=True), "uncoalesced"),
    (lambda: flambeau.sparse_csr_tensor([0, 2, 1], [0, 1], [1.0, 2.0]), "never fall"),
    (lambda: flambeau.sparse_csr_tensor([0, 1], [7], [1.0], (1, 3)), "found 7"),
    (lambda: matrix().exp(), r"exp\(\) is not implemented.*to_dense"),
    (lambda: matrix() + flambeau.ones(2, 3), r"Use add\(dense, sparse\)"),
    (lambda: matrix() / matrix(), "scalar or zero-dim"),
    (lambda: matrix() @ flambeau.ones(2, 2), r"\[2, 3\] and \[2, 2\]"),
    (lambda: matrix().numpy(), "scipy"),
    (lambda: numpy.asarray(matrix()), "scipy"),
    (lambda: memoryview(matrix()), "no array"),
    (lambda: matrix().tolist(), "no dense memory"),
    (lambda: flambeau.Tensor.tolist(matrix()), "no memory of all elements"),
    (lambda: flambeau.Tensor._make_subclass(flambeau.Tensor, matrix()), "no memory of all"),
    (lambda: matrix().view(6), "view"),
    (lambda: matrix().values(), "coalesce"),
    (lambda: flambeau.ones(2).values(), "expected sparse"),
    (lambda: flambeau.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (1,)).indices(), "coalesce"),
    (lambda: matrix().__setitem__(0, 1.0), "Cannot assign"),
    (lambda: flambeau.ones(2, 2).to_sparse_bsr((3, 1)), "divide"),
])
def test_refusals_say_what_to_write(call, text):
    with pytest.raises((RuntimeError, TypeError, BufferError, IndexError, NotImplementedError),
                       match=text):
        call()


def test_saved_and_loaded(tmp_path):
    path = tmp_path / "x.safetensors"
    x = matrix()
    flambeau.save({"a": x, "b": [x.to_sparse_csr()]}, path)
    again = flambeau.load(path)
    same(again["a"], x.to_dense())
    same(again["b"][0], x.to_dense())
    assert again["b"][0].layout == flambeau.sparse_csr


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:Sparse")
def test_checkpoint_of_pytorch(tmp_path):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    torch.save({"a": x.to_sparse(), "b": x.to_sparse_csr()}, tmp_path / "x.pt")
    again = flambeau.load(tmp_path / "x.pt")
    assert again["a"].to_dense().tolist() == again["b"].to_dense().tolist() == x.tolist()
    assert again["b"].layout == flambeau.sparse_csr


def test_kernels_refuse_indices_out_of_range():
    starts, values = flambeau.tensor([0, 1]), flambeau.ones(1)
    for call, args in (("csr_product", [starts, flambeau.tensor([5]), values]),
                       ("csr_product", [flambeau.tensor([0, 9]), flambeau.tensor([0]), values]),
                       ("sampled_product", [flambeau.tensor([5]), flambeau.tensor([0]),
                                            flambeau.ones(2, 2)])):
        with pytest.raises((IndexError, ValueError), match="range|rise"):
            flambeau.core._core.call(call, [*args, flambeau.ones(2, 2)])


@pytest.mark.parametrize("name", ("add_", "sub_", "mul_"))
@pytest.mark.parametrize(("kind", "given"), [("int64", "float32"), ("float32", "complex64")])
def test_a_dense_tensor_refuses_sparse_results_that_it_cannot_hold(name, kind, given):
    x = flambeau.ones(3, dtype=getattr(flambeau, kind))
    other = flambeau.tensor([0, 0.5, 2.5]).to(getattr(flambeau, given)).to_sparse()
    with pytest.raises(RuntimeError, match="can't be cast"):
        getattr(x, name)(other)
    assert x.tolist() == [1, 1, 1]


@pytest.mark.parametrize(("reduce", "expected"), [
    ("max", [[10, 12], [15, 18]]), ("min", [[1, -2], [15, 18]]), ("mean", [[5.5, 5], [15, 18]])])
def test_reduced_products_by_both_spellings(reduce, expected):
    matrix = flambeau.tensor([[1.0, 0, 2], [0, 0, 3]]).to_sparse_csr()
    other = flambeau.tensor([[1.0, -2], [3, 4], [5, 6]])
    assert sparse.mm(matrix, other, reduce).tolist() == expected


@pytest.mark.parametrize("kind", ["bsr", "bsc"])
def test_one_number_is_the_side_of_square_blocks(kind):
    dense = flambeau.eye(4)
    x = getattr(dense, f"to_sparse_{kind}")(2)
    assert x.values().shape == (2, 2, 2) and flambeau.equal(x.to_dense(), dense)
    assert flambeau.equal(getattr(x, f"to_sparse_{kind}")(2).to_dense(), dense)


def test_a_size_alone_makes_a_tensor_without_elements():
    x = flambeau.sparse_coo_tensor(size=(2, 3))
    assert x.shape == (2, 3) and x._nnz() == 0 and x.to_dense().tolist() == [[0.0] * 3] * 2
    with pytest.raises(TypeError, match="size= alone"):
        flambeau.sparse_coo_tensor()


def test_parts_that_another_layout_has_are_refused():
    x = flambeau.eye(3)
    for made, name in ((x.to_sparse(), "crow_indices"), (x.to_sparse(), "row_indices"),
                       (x.to_sparse_csr(), "indices"), (x.to_sparse_csc(), "crow_indices"),
                       (x, "values")):
        with pytest.raises(RuntimeError, match=f"{name} expected .* but got"):
            getattr(made, name)()
        with pytest.raises(RuntimeError, match=f"{name} expected .* but got"):
            getattr(flambeau.Tensor, name)(made)


@pytest.mark.parametrize("layout", ("sparse_coo", "sparse_csr", "sparse_csc"))
def test_zeros_are_written_to_a_sparse_tensor(layout):
    for shape in ((2, 3), (4, 5)):
        out = flambeau.eye(3)[:2].to_sparse(layout=getattr(flambeau, layout))
        assert flambeau.zeros(shape, out=out) is out
        assert (out.shape, out._nnz(), out.layout) == (shape, 0, getattr(flambeau, layout))
        assert out.to_dense().tolist() == flambeau.zeros(shape).tolist()


def test_dense_tensors_like_a_sparse_one():
    x = flambeau.eye(2, dtype=flambeau.float64).to_sparse()
    made = flambeau.empty_like(x, layout=flambeau.strided)
    assert (made.shape, made.dtype, made.layout) == (x.shape, x.dtype, flambeau.strided)
    assert flambeau.ones_like(x, layout=flambeau.strided).tolist() == [[1, 1], [1, 1]]
    full = flambeau.full_like(x, 3, layout=flambeau.strided, dtype=flambeau.int64)
    assert full.dtype is flambeau.int64 and full.tolist() == [[3, 3], [3, 3]]
    with pytest.raises(RuntimeError, match="rank 4"):
        flambeau.empty_like(x, layout=flambeau.strided, memory_format=flambeau.channels_last)
