"""Indexing and assignment against NumPy."""

from __future__ import annotations

import warnings

import numpy
import pytest
from arrays import make, tensor

import flambeau

A = make((4, 5, 6))
I2 = numpy.array([[0, 3], [1, -1]])
I1 = numpy.array([2, 0])
MASK = make((4, 5), "bool", seed=3)
ROWS = numpy.array([True, False, True, True])

INDICES = {
    "array": (I2,), "list": ([1, 3],), "negative": (numpy.array([-1, -4]),),
    "second": (slice(None), I1), "two": (I1, I2), "ends": (I1, slice(None), I2),
    "ends and slice": (I1, slice(1, 4), I2), "slice first": (slice(1, None), I1, I2),
    "array and int": (I2, 1), "none": (None, I1),
    "array none array": (I1, None, I2), "ellipsis": (..., I2), "array ellipsis": (I2, ..., I1),
    "mask": (MASK,), "row mask": (ROWS,), "mask in the middle": (slice(None), MASK[0]),
    "mask and array": (ROWS, numpy.array([1, 0, 2])), "mask of nothing": (numpy.zeros(4, bool),),
    "empty list": ([],), "0-d": (numpy.array(2),), "step": (slice(None, None, 3), I1),
    "full": (I1, I1, I1), "broadcast": (I2[:, :, None], numpy.arange(5)), "scalar": (1, 2, 3),
    "bool list": ([True, False, True, False],),
}


def _ours(index):
    return tuple(tensor(i) if isinstance(i, numpy.ndarray) else i for i in index)


@pytest.mark.parametrize("layout", ("contiguous", "transposed"))
@pytest.mark.parametrize("name", INDICES)
def test_reading(name, layout):
    array = A if layout == "contiguous" else numpy.asfortranarray(A)
    x = tensor(A) if layout == "contiguous" else tensor(A.T).permute(2, 1, 0)
    numpy.testing.assert_array_equal(x[_ours(INDICES[name])].numpy(), array[INDICES[name]])


@pytest.mark.parametrize("dtype", ("float32", "int64", "bool", "complex64"))
@pytest.mark.parametrize("name", INDICES)
def test_assigning(name, dtype):
    base = make((4, 5, 6), dtype)
    for fill in ("number", "tensor", "broadcast"):
        array, x = base.copy(), tensor(base)
        shape = array[INDICES[name]].shape
        value = {"number": 1, "tensor": make(shape, dtype, seed=4),
                 "broadcast": make(shape[-1:], dtype, seed=5)}[fill]
        array[INDICES[name]] = value
        x[_ours(INDICES[name])] = tensor(value) if isinstance(value, numpy.ndarray) else value
        numpy.testing.assert_array_equal(x.numpy(), array)


def test_an_integer_is_taken_before_arrays_as_in_pytorch():
    """NumPy counts the integer as an array and moves the arrays' dimensions to the front."""
    numpy.testing.assert_array_equal(tensor(A)[1, :, tensor(I2)].numpy(), A[1][:, I2])


def test_assignment_casts_into_the_target():
    x = flambeau.zeros(3, dtype=flambeau.int64)
    x[1] = 2.9
    x[2:] = flambeau.tensor([3.7])
    assert x.tolist() == [0, 2, 3]


def test_assigning_a_list():
    x = flambeau.zeros(2, 3)
    x[0] = flambeau.tensor([1, 2, 3])
    x[:, 0] = flambeau.tensor(9.0)
    assert x.tolist() == [[9.0, 2.0, 3.0], [9.0, 0.0, 0.0]]


def test_index_dtypes():
    x = flambeau.arange(5)
    for dtype in (flambeau.int32, flambeau.int64):
        assert x[flambeau.tensor([4, 1], dtype=dtype)].tolist() == [4, 1]


def test_accumulation_adds_every_repeated_index():
    x = flambeau.zeros(3)
    x.index_put_((flambeau.tensor([1, 1, 2]),), flambeau.tensor([1.0, 2.0, 4.0]), accumulate=True)
    assert x.tolist() == [0.0, 3.0, 4.0]


@pytest.mark.parametrize("index", [4, -5, (0, 5), (slice(None), 9), (0, 0, 0, 0),
                                   flambeau.tensor([4]), flambeau.tensor([-5]),
                                   flambeau.tensor([True]), 1.5, "a", (..., ...),
                                   flambeau.tensor([0.5])])
def test_bad_indices(index):
    x = flambeau.zeros(4, 5, 6)
    with pytest.raises((IndexError, TypeError)):
        x[index]
    with pytest.raises((IndexError, TypeError)):
        x[index] = 1.0
    assert x.sum().item() == 0


def test_negative_steps_say_flip():
    with pytest.raises(ValueError, match="flip"):
        flambeau.arange(3)[::-1]


def test_bad_shapes_in_assignment():
    x = flambeau.zeros(4, 5)
    with pytest.raises((RuntimeError, ValueError), match="shape|size"):
        x[0] = flambeau.ones(3)
    with pytest.raises((RuntimeError, ValueError, IndexError), match="shape|size"):
        x[flambeau.tensor([0, 1])] = flambeau.ones(3, 5)
    assert x.sum().item() == 0


def test_iteration_unpacking_and_membership():
    x = flambeau.tensor([[1, 2], [3, 4]])
    a, b = x
    assert a.tolist() == [1, 2]
    assert b.tolist() == [3, 4]
    assert 3 in x
    assert 9 not in x
    assert len(x) == 2


def test_indexing_of_scalars():
    x = flambeau.tensor(3.0)
    assert x[...].item() == 3.0
    assert x[None].shape == (1,)
    with pytest.raises(IndexError):
        x[0]


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
@pytest.mark.parametrize("index", [..., ()])
def test_an_index_that_takes_everything_gives_a_view_of_its_own(shape, index):
    x = flambeau.zeros(shape)
    y = x[index]
    assert y is not x
    assert y.shape == x.shape
    y += 1
    assert x.tolist() == flambeau.ones(shape).tolist()
    y.unsqueeze_(0)
    assert x.shape == shape

def test_the_method_where_chooses_between_its_tensor_and_another():
    x, condition = flambeau.tensor([True, False]), flambeau.tensor([False, True])
    assert x.where(condition, flambeau.tensor([True, True])).tolist() == [True, False]
    y = flambeau.tensor([1.0, 2.0])
    assert y.where(condition, flambeau.tensor([3.0, 4.0])).tolist() == [3.0, 2.0]
    assert y.where(condition=condition, other=9).tolist() == [9.0, 2.0]
    assert flambeau.where(condition, y, 9).tolist() == [9.0, 2.0]


def test_masks_of_bytes_are_deprecated():
    x, mask = flambeau.tensor([1, 2, 3]), flambeau.tensor([1, 0, 1], dtype=flambeau.uint8)
    with pytest.warns(UserWarning, match="dtype uint8 is now deprecated"):
        assert x[mask].tolist() == [1, 3]
    with pytest.warns(UserWarning, match="dtype uint8 is now deprecated"):
        x[mask] = 0
    assert x.tolist() == [0, 2, 0]


def test_each_line_that_masks_by_bytes_is_named():
    x, mask = flambeau.tensor([1, 2, 3]), flambeau.tensor([1, 0, 1], dtype=flambeau.uint8)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        x[mask]
        x[mask]
    assert [each.filename for each in caught] == [__file__] * 2


@pytest.mark.parametrize("call", [
    lambda x, i: x[i], lambda x, i: x.index_select(0, i), lambda x, i: x.take(i + 3),
    lambda x, i: x.index_add(0, i, x[:1]), lambda x, i: x.index_fill(0, i, 1),
    lambda x, i: x.gather(0, i[None]), lambda x, i: x.scatter(0, i[None], 1),
])
def test_positions_out_of_range_are_errors_of_both_kinds(call):
    for kind in (IndexError, RuntimeError):
        with pytest.raises(kind, match="out of bounds for dimension 0"):
            call(flambeau.ones(2, 2), flambeau.tensor([5]))


def test_one_position_is_taken_from_a_tensor_without_dimensions():
    point = flambeau.tensor(3.0)
    assert point.index_select(0, flambeau.tensor([0])).item() == 3
    for positions in ([], [0, 0]):
        with pytest.raises(RuntimeError, match="one element is taken"):
            point.index_select(0, flambeau.tensor(positions, dtype=flambeau.int64))


def test_whole_alphas_of_any_kind_are_integers():
    x, first = flambeau.tensor([1, 2]), flambeau.tensor([0])
    assert x.index_add(0, first, flambeau.tensor([3]), alpha=2.0).tolist() == [7, 2]
    with pytest.raises(RuntimeError, match="alpha must be an integer"):
        x.index_add(0, first, flambeau.tensor([3]), alpha=2.5)


def test_take_along_dim_takes_int64_alone():
    with pytest.raises(RuntimeError, match="dtype of indices should be int64, but got"):
        flambeau.ones(2, 3).take_along_dim(flambeau.zeros(1, 3, dtype=flambeau.int32), 0)


def test_elements_are_not_deleted():
    with pytest.raises(TypeError, match="no elements to delete"):
        del flambeau.zeros(2)[0]


def test_gather_takes_sparse_grad():
    x, index = flambeau.tensor([[1, 2], [3, 4]]), flambeau.tensor([[1, 0]])
    for sparse in (True, False):
        assert x.gather(1, index, sparse_grad=sparse).tolist() == [[2, 1]]
        assert flambeau.gather(x, dim=0, index=index, sparse_grad=sparse).tolist() == [[3, 2]]


def test_integers_of_other_classes_are_indices():
    class Second:
        def __index__(self):
            return 1

    x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x[Second()].tolist() == [3.0, 4.0]
    assert x[:, Second()].tolist() == [2.0, 4.0]
    x[Second()] = 0.0
    assert x.tolist() == [[1.0, 2.0], [0.0, 0.0]]


ALL = slice(None)


@pytest.mark.parametrize(("target", "source"), [
    (ALL, 1), (1, (1, 2)), ((ALL, 1), (1, 1)), (ALL, (ALL, 0)), ((ALL, ALL), (ALL, slice(0, 1))),
    (slice(None, None, 2), 2),
])
def test_a_part_of_a_tensor_is_spread_over_it(target, source):
    expected = numpy.arange(9).reshape(3, 3)
    x = flambeau.tensor(expected)
    expected[target] = expected[source].copy()
    x[target] = x[source]
    assert x.tolist() == expected.tolist()


@pytest.mark.parametrize("index", [
    ([1],), ([1, 3],), (slice(1, 3), [0]), ([2], [1]), ([[0, 1], [2, 3]],)], ids=str)
@pytest.mark.parametrize("shape", [(1,), (1, 3), (1, 1, 3), (1, 1, 1, 1), (1, 1, 1, 1, 1)])
def test_written_values_with_leading_dimensions_of_one(index, shape):
    value = numpy.arange(numpy.prod(shape), dtype=numpy.float32).reshape(shape) + 1
    wanted = numpy.zeros((4, 3), numpy.float32)
    where = tuple(numpy.array(i) if isinstance(i, list) else i for i in index)
    shown = wanted[where]
    try:
        wanted[where] = numpy.broadcast_to(value.reshape(shape[max(0, len(shape) - shown.ndim):]),
                                        shown.shape)
    except ValueError:
        return
    x = flambeau.zeros(4, 3)
    x[index] = flambeau.from_numpy(value)
    numpy.testing.assert_array_equal(x.numpy(), wanted)


def test_errors_of_index_reach_the_caller():
    class Refused:
        def __index__(self):
            raise LookupError("not now")

    with pytest.raises(LookupError, match="not now"):
        flambeau.zeros(3).narrow(0, Refused(), 1)
