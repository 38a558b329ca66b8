"""Movement beyond values: what is a view, in-place forms, memory formats, errors that teach."""

from __future__ import annotations

import itertools

import numpy
import pytest

import flambeau
from flambeau import channels_last
from flambeau.core import ops

NAN = float("nan")


def _x(*shape):
    return flambeau.arange(1.0 * flambeau.Size(shape).numel()).reshape(shape).clone()


# ---- views share memory, copies do not


@pytest.mark.parametrize("view", [
    lambda x: x.adjoint(), lambda x: x.mT, lambda x: x.broadcast_to((2, 2, 3)),
    lambda x: x.tensor_split(2, 1)[1], lambda x: x.hsplit([1])[0], lambda x: x.ravel(),
    lambda x: x.movedim(0, 1), lambda x: x.swapaxes(0, 1), lambda x: x.unfold(1, 2, 1),
    lambda x: x.split_with_sizes([1, 2], 1)[0], lambda x: flambeau.broadcast_tensors(x, x)[0],
    lambda x: flambeau.atleast_3d(x), lambda x: x.unflatten(1, (3, 1)),
])
def test_views_share_memory(view):
    x = _x(2, 3)
    assert view(x)._base is x
    assert flambeau.core.storage_id(view(x)) == flambeau.core.storage_id(x)


def test_another_dtype_shares_memory_but_has_no_base():
    x = _x(2, 3)
    y = x.view(flambeau.int32)
    assert y._base is None and not y._is_view() and y[0]._base is y
    assert flambeau.core.storage_id(y) == flambeau.core.storage_id(x)


@pytest.mark.parametrize("copy", [
    lambda x: x.roll(0, 0), lambda x: x.rot90(0), lambda x: x.tile(1), lambda x: x.diag(),
    lambda x: flambeau.narrow_copy(x, 1, 0, 3), lambda x: flambeau.alias_copy(x),
    lambda x: x.repeat_interleave(1, 0), lambda x: flambeau.constant_pad_nd(x, (0, 0)),
    lambda x: x.take_along_dim(flambeau.zeros(1, 1, dtype=flambeau.int64), 1),
])
def test_copies_do_not(copy):
    x = _x(2, 3)
    assert flambeau.core.storage_id(copy(x)) != flambeau.core.storage_id(x)


# ---- tensors that become views of themselves


def test_in_place_views():
    x = _x(2, 3)
    assert x.unsqueeze_(0) is x
    assert x.shape == (1, 2, 3)
    assert x.squeeze_().transpose_(0, 1).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert x.t_().is_contiguous()
    assert x.swapdims_(0, 1).stride() == (1, 3)
    assert x.as_strided_((2,), (2,), 1).tolist() == [1, 3]


def test_in_place_views_keep_the_history():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x = _x(2, 3).requires_grad_()
    y = x * 2
    y.t_()
    (y * flambeau.tensor([[1.0, 2.0]])).sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0, 2.0], [4.0, 4.0, 4.0]]
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x.unsqueeze_(0)


def test_in_place_writes():
    x = flambeau.zeros(4)
    index = flambeau.tensor([1, 3])
    x.index_copy_(0, index, flambeau.tensor([5.0, 6.0])).index_fill_(0, flambeau.tensor([0]), 9)
    assert x.tolist() == [9, 5, 0, 6]
    x.scatter_reduce_(0, index, flambeau.tensor([7.0, 1.0]), "amax")
    assert x.tolist() == [9, 7, 0, 6]
    x.masked_scatter_(x > 6, flambeau.tensor([1.0, 2.0])).put_(flambeau.tensor([2]),
                                                             flambeau.tensor([8.0]))
    assert x.tolist() == [1, 2, 8, 6]
    x[1:3].index_copy_(0, flambeau.tensor([1]), flambeau.tensor([4.0]))
    assert x.tolist() == [1, 2, 4, 6]


# ---- memory formats


def test_channels_last():
    x = _x(2, 3, 4, 5)
    y = x.contiguous(memory_format=channels_last)
    assert y.stride() == (60, 1, 15, 3)
    assert y.is_contiguous(memory_format=channels_last)
    assert not y.is_contiguous()
    assert flambeau.equal(x, y)
    assert y.contiguous(memory_format=channels_last) is y
    assert x.to(memory_format=channels_last).stride() == y.stride()
    assert y.clone().stride() == y.stride()
    assert y.clone(memory_format=flambeau.contiguous_format).is_contiguous()
    assert flambeau.empty_like(y).stride() == y.stride()
    assert flambeau.zeros_like(x, memory_format=channels_last).stride() == y.stride()
    assert flambeau.ones_like(y, memory_format=flambeau.contiguous_format).is_contiguous()
    with pytest.raises(RuntimeError, match="rank 4"):
        x[0].contiguous(memory_format=channels_last)
    with pytest.raises(ValueError, match="channels_last_3d"):
        x.clone(memory_format="rows_first")


def test_empty_strided_with_gaps():
    x = flambeau.empty_strided((2, 3), (10, 2)).fill_(1)
    assert (x.stride(), x.sum().item()) == ((10, 2), 6.0)
    assert _x(2).new_empty_strided((3, 2), (1, 3)).stride() == (1, 3)


# ---- the rest


def test_randint_like():
    x = flambeau.zeros(1000, dtype=flambeau.int64)
    y = flambeau.randint_like(x, 3, 7)
    assert (y.min().item(), y.max().item(), y.dtype) == (3, 6, flambeau.int64)
    assert flambeau.randint_like(x.float(), 2).unique().tolist() == [0.0, 1.0]


def test_made_from_numbers():
    assert flambeau.logspace(0, 3, 4, base=2).tolist() == [1, 2, 4, 8]
    assert flambeau.scalar_tensor(3).dtype is flambeau.float32
    assert flambeau.tril_indices(2, 3).tolist() == [[0, 1, 1], [0, 0, 1]]
    assert flambeau.triu_indices(2, 2, 1).tolist() == [[0], [1]]
    assert flambeau.broadcast_shapes((3, 1), 2, (1, 1, 1)) == (1, 3, 2)


def test_triangles_of_every_shape():
    for row, col, offset in itertools.product(range(5), range(5), range(-6, 7)):
        for upper in (False, True):
            name = "triu_indices" if upper else "tril_indices"
            wanted = numpy.stack(getattr(numpy, name)(row, offset, col))
            made = getattr(flambeau, name)(row, col, offset)
            assert numpy.array_equal(made.numpy(), wanted), (name, row, col, offset)
            meta = getattr(flambeau, name)(row, col, offset, device="meta")
            assert meta.shape == wanted.shape and meta.dtype is flambeau.int64


def test_the_last_of_equal_positions_wins_for_any_number_of_threads():
    x, index = flambeau.zeros(3, 50000), flambeau.tensor([1, 0, 1])
    source = _x(3, 50000)
    wanted = [x.index_copy(0, index, source), x.scatter_reduce(
        0, index.view(3, 1).expand(3, 50000), source, "mean")]
    threads = flambeau.get_num_threads()
    try:
        flambeau.set_num_threads(1)
        assert flambeau.equal(x.index_copy(0, index, source), wanted[0])
        again = x.scatter_reduce(0, index.view(3, 1).expand(3, 50000), source, "mean")
        assert flambeau.equal(again, wanted[1])
    finally:
        flambeau.set_num_threads(threads)
    assert wanted[0][1].equal(source[2])


@pytest.mark.parametrize(("positions", "numbers"), [
    ("int32", "int64"), ("float32", "float64"), ("int64", "float32"), ("float32", "uint8"),
    ("float64", "int64"), ("uint64", "float32"), ("uint8", "uint64")])
def test_positions_of_numbers_in_a_sequence_of_another_dtype(positions, numbers):
    sequence = numpy.array([1, 2, 2, 5], positions)
    x = numpy.array([2.5, 2, 0, 9, 5], numbers)
    got = flambeau.searchsorted(flambeau.tensor(sequence), flambeau.tensor(x))
    assert got.tolist() == numpy.searchsorted(sequence, x).tolist()
    got = flambeau.bucketize(flambeau.tensor(x), flambeau.tensor(sequence), right=True)
    assert got.tolist() == numpy.searchsorted(sequence, x, side="right").tolist()


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda x: x.index_copy(0, flambeau.tensor([-1]), x[:1]), IndexError, "out of bounds"),
    (lambda x: x.index_copy(0, flambeau.tensor([0]), x), RuntimeError, "must have shape"),
    (lambda x: x.index_fill(0, flambeau.tensor([0.0]), 1), RuntimeError, "index.long"),
    (lambda x: x.index_fill(0, flambeau.tensor([0]), x), RuntimeError, "0-d tensor"),
    (lambda x: x.scatter_reduce(0, flambeau.tensor([[0]]), x, "max"), RuntimeError, "amax or amin"),
    (lambda x: x.scatter_reduce(0, flambeau.tensor([[9]]), x, "sum"), RuntimeError,
     "out of bounds"),
    (lambda x: x.masked_scatter(x > -1, x[:1]), RuntimeError, "6 true"),
    (lambda x: x.masked_scatter(x, x), RuntimeError, "mask != 0"),
    (lambda x: x.put(flambeau.tensor([7]), x[0, :1]), IndexError, "out of bounds"),
    (lambda x: flambeau.searchsorted(x.to(flambeau.uint64), x.long()), RuntimeError,
     "no common dtype"),
    (lambda x: flambeau.searchsorted(x, x.to(flambeau.complex64)), RuntimeError, "complex"),
    (lambda x: flambeau.searchsorted(x[0], x, side="up"), RuntimeError, "left"),
    (lambda x: ops.pad(x, (3, 0), "reflect"), RuntimeError, "at most 2"),
    (lambda x: ops.pad(x, (1,)), RuntimeError, "pairs"),
    (lambda x: ops.pad(x, (1, 1), "mirror"), NotImplementedError, "replicate"),
    (lambda x: x.repeat_interleave(flambeau.tensor([1, -1]), 0), RuntimeError, "negative"),
    (lambda x: x.repeat_interleave(flambeau.tensor([1, 2]), 0, output_size=9), RuntimeError,
     "output_size is 9"),
    (lambda x: x.hsplit(2), RuntimeError, "tensor_split"),
    (lambda x: x.split([1, 1], 1), RuntimeError, "sum exactly"),
    (lambda x: x[0, :1].view(flambeau.float64), RuntimeError, "whole multiples"),
    (lambda x: flambeau.meshgrid(x, indexing="ij"), RuntimeError, "1-d"),
    (lambda x: flambeau.broadcast_tensors(x, flambeau.ones(2)), RuntimeError, "Shape mismatch"),
    (lambda x: flambeau.block_diag(x, 3), TypeError, "must be tensors"),
    (lambda x: x.sum_to_size(3, 3), RuntimeError, "not expandable"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(_x(2, 3))


def test_pieces_under_the_names_of_autograd():
    """Older programs name them; they give what the plain names give."""
    x = flambeau.arange(6)
    assert [p.tolist() for p in flambeau.unsafe_split(x, 4)] == [[0, 1, 2, 3], [4, 5]]
    assert [p.tolist() for p in x.unsafe_split_with_sizes([1, 5])] == [[0], [1, 2, 3, 4, 5]]
    assert [p.tolist() for p in flambeau.unsafe_chunk(x, 3)] == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2, -3])
def test_nothing_joins_along_any_dimension(dim):
    joined = flambeau.cat([flambeau.empty(0), flambeau.empty(0)], dim)
    assert joined.shape == (0,)


def test_functions_of_several_tensors_take_none():
    assert flambeau.block_diag().shape == (1, 0)
    assert list(flambeau.broadcast_tensors()) == list(flambeau.atleast_1d()) == []
    assert list(flambeau.atleast_2d()) == list(flambeau.atleast_3d()) == []
    with pytest.raises(RuntimeError, match="non-empty"):
        flambeau.cartesian_prod()


def test_reversed_flips_the_first_dimension():
    flipped = reversed(flambeau.tensor([[1, 2], [3, 4]]))
    assert flipped.tolist() == [[3, 4], [1, 2]]
    assert reversed(flambeau.tensor(3)).tolist() == 3
    assert reversed(flambeau.empty(0, 2)).shape == (0, 2)


# NaN is neither less nor greater than a number: what std::sort makes of that is what PyTorch gives.
@pytest.mark.parametrize(("rows", "expected", "inverse"), [
    ([3.0, NAN, 0.0, NAN, 2.0, 1.0], [0.0, 3.0, NAN, NAN, 1.0, 2.0], [1, 2, 0, 3, 5, 4]),
    ([NAN, 1.0, NAN, 0.0, 1.0], [NAN, 1.0, NAN, 0.0, 1.0], [0, 1, 2, 3, 4]),
    ([[NAN, 1.0], [NAN, 1.0], [0.0, 1.0]], [[NAN, 1.0], [NAN, 1.0], [0.0, 1.0]], [0, 1, 2]),
    ([[1.0, NAN], [1.0, 2.0], [1.0, NAN], [0.0, NAN], [1.0, 1.0]],
     [[0.0, NAN], [1.0, NAN], [1.0, 2.0], [1.0, NAN], [1.0, 1.0]], [1, 2, 3, 0, 4]),
])
def test_unique_rows_with_nan_are_ordered_as_in_pytorch(rows, expected, inverse):
    found, positions, counts = flambeau.unique(flambeau.tensor(rows), return_inverse=True,
                                            return_counts=True, dim=0)
    numpy.testing.assert_array_equal(found.numpy(), numpy.float32(expected))
    assert positions.tolist() == inverse
    assert counts.tolist() == [1] * len(expected)


@pytest.mark.parametrize("take", [lambda x: x.unique(dim=0), lambda x: x.unique_consecutive(dim=0)])
def test_unique_along_a_dimension_that_a_number_does_not_have(take):
    with pytest.raises(IndexError, match="Dimension specified as 0 but tensor has no dimensions"):
        take(flambeau.tensor(3.0))


@pytest.mark.parametrize(("call", "text"), [
    (lambda x: x.tensor_split(flambeau.tensor(1.1)), "dtype int64"),
    (lambda x: x.resize_([8, 8, 2**29, 2**29]), "multiplication overflow"),
    (lambda x: flambeau.broadcast_shapes(1.1), "a tuple of ints, or a list of ints"),
    (lambda x: x.index_put([], flambeau.ones(1)), "at least one index"),
])
def test_shapes_that_are_refused(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(flambeau.zeros(3))


def test_pieces_by_each_keyword():
    x = flambeau.arange(5)
    for pieces in (x.tensor_split(sections=2), flambeau.tensor_split(x, indices=(3,)),
                   x.tensor_split(tensor_indices_or_sections=flambeau.tensor(2)),
                   flambeau.hsplit(x, indices=[3])):
        assert [each.tolist() for each in pieces] == [[0, 1, 2], [3, 4]]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
def test_copies_a_few_bytes_ahead_of_their_source(dtype):
    """Rows that start a little behind their source's place in a page have a loop of their own."""
    values = numpy.arange(8 * 4096).reshape(8, 4096).astype(dtype)
    for ahead in (1, 2, 3, 5, 31, 63, 64, 65):
        for length in (1, 7, 63, 64, 65, 300, 4000):
            x, right = flambeau.tensor(values), numpy.zeros_like(values)
            target = flambeau.zeros_like(x)
            target[:, ahead:ahead + length] = x[:, :length]
            right[:, ahead:ahead + length] = values[:, :length]
            numpy.testing.assert_array_equal(target.numpy(), right)
