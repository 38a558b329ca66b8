"""Views share memory; their geometry is NumPy's."""

from __future__ import annotations

import gc
import weakref

import numpy
import pytest
from arrays import make, tensor

import flambeau
from flambeau.core import storage_id

A = make((3, 4, 5))

VIEWS = {
    "slice": lambda x: x[1:, ::2], "int": lambda x: x[1], "negative": lambda x: x[..., -1],
    "none": lambda x: x[:, None], "ellipsis": lambda x: x[0, ..., 1:3],
    "reversed range": lambda x: x[2:1], "beyond": lambda x: x[:, 2:99],
    "swapaxes": lambda x: x.swapaxes(0, 2), "reshape": lambda x: x.reshape(12, 5),
    "squeeze": lambda x: x[1:2].squeeze(),
    "mixed": lambda x: x[1:, None, ..., 0],
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_match_numpy_and_share_memory(name):
    array = A.copy()
    x = tensor(array)
    theirs, ours = VIEWS[name](array), VIEWS[name](x)
    assert tuple(ours.shape) == theirs.shape
    numpy.testing.assert_array_equal(ours.numpy(), theirs)
    ours.fill_(7)
    theirs[...] = 7
    numpy.testing.assert_array_equal(x.numpy(), array)
    assert ours._is_view()
    assert ours._version == x._version


@pytest.mark.parametrize("change", [
    lambda x: x.t(), lambda x: x.T, lambda x: x.mT, lambda x: x.transpose(0, 1),
    lambda x: x.permute(1, 0), lambda x: x.view(12), lambda x: x.unsqueeze(1),
    lambda x: x.squeeze(), lambda x: x.expand(2, 3, 4), lambda x: x.narrow(1, 1, 2),
    lambda x: x.select(0, 1), lambda x: x.diagonal(), lambda x: x.unfold(0, 2, 1),
    lambda x: x.as_strided((2, 2), (1, 2)), lambda x: x.split(2)[1], lambda x: x.chunk(2, 1)[0],
    lambda x: x.unbind(1)[2], lambda x: x.movedim(0, 1), lambda x: x.swapaxes(0, 1),
    lambda x: x.detach(), lambda x: x.flatten(), lambda x: x.unflatten(1, (2, 2)),
    lambda x: x.reshape(4, 3), lambda x: x.view_as(x), lambda x: x.expand_as(x),
    lambda x: flambeau.view_as_complex(x.view(3, 2, 2)), lambda x: x.data,
])
def test_methods_that_give_views_share_memory(change):
    x = flambeau.zeros(3, 4)
    y = change(x)
    assert storage_id(y) == storage_id(x) or y.data_ptr() == x.data_ptr()
    x.fill_(1)
    assert y.tolist() == change(x).tolist()
    assert y.sum().item() != 0


def test_diagonal_is_a_view():
    x = tensor(A)
    numpy.testing.assert_array_equal(x.diagonal(1, 0, 2).numpy(), A.diagonal(1, 0, 2))
    x[0].diagonal().zero_()
    assert [x[0, i, i].item() for i in range(4)] == [0.0] * 4


def test_strides_and_offsets_count_elements():
    x = flambeau.zeros(3, 4, 5)
    y = x[1:, :, 2]
    assert y.stride() == (20, 5)
    assert y.storage_offset() == 22
    assert y.data_ptr() == x.data_ptr() + 22 * 4
    assert x.permute(2, 0, 1).stride() == (1, 20, 5)
    assert x.expand(2, 3, 4, 5).stride() == (0, 20, 5, 1)


def test_a_view_keeps_the_memory_and_not_the_tensor():
    x = flambeau.arange(10)
    alive = weakref.ref(x)
    y = x.detach()[3:]
    del x
    gc.collect()
    assert alive() is None
    assert y.tolist() == [3, 4, 5, 6, 7, 8, 9]


def test_base_of_a_view_of_a_view_is_the_first_tensor():
    x = flambeau.zeros(4, 4)
    assert x[1:][0]._base is x
    assert x._base is None


def test_base_of_a_random_complex_tensor():
    x = flambeau.randn(3, dtype=flambeau.complex64)
    assert x._base is None
    assert x.real._base is x
    assert x.conj().imag._base is not x
    assert flambeau.view_as_real(x)._base is x


@pytest.mark.parametrize("make", [
    lambda x: x.mT.reshape(6), lambda x: x.mT.flatten(), lambda x: x.mT.ravel(),
    lambda x: x.repeat(2, 1), lambda x: x.repeat_interleave(2), lambda x: x.roll(1),
    lambda x: flambeau.kron(x, x), lambda x: flambeau.complex(x, x),
    lambda x: flambeau.max_pool1d(x, 2),
])
def test_a_new_tensor_is_no_view(make):
    assert not make(flambeau.ones(2, 3))._is_view()


@pytest.mark.parametrize("view", [
    lambda x: x.reshape(6), lambda x: x.flatten(), lambda x: x.ravel(), lambda x: x.reshape(3, 2),
    lambda x: x.chunk(2)[0], lambda x: flambeau.atleast_3d(x),
])
def test_composites_that_are_views(view):
    x = flambeau.ones(2, 3)
    y = view(x)
    assert y._base is x
    y.zero_()
    assert x.sum() < 6


def test_contiguity():
    x = flambeau.zeros(3, 4)
    assert x.is_contiguous()
    assert not x.t().is_contiguous()
    assert x.t().contiguous().is_contiguous()
    assert x[:, :1].is_contiguous() is False
    assert flambeau.zeros(1, 4).t().is_contiguous()
    assert flambeau.zeros(0, 4).t().is_contiguous()
    assert x.contiguous() is x


def test_reshape_copies_only_when_it_must():
    x = flambeau.zeros(3, 4)
    assert x.reshape(2, 6).data_ptr() == x.data_ptr()
    assert x.t().reshape(12).data_ptr() != x.data_ptr()


def test_many_dimensions():
    x = flambeau.zeros([1] * 12)
    assert x.ndim == 12
    assert (x + 1).sum().item() == 1
    assert x.permute(tuple(range(12))[::-1]).shape == (1,) * 12
    assert x[(0,) * 12].item() == 0


def test_views_of_nothing():
    x = flambeau.zeros(0, 3)
    assert x[:, 1].shape == (0,)
    assert x.t().reshape(3, 0, 2).shape == (3, 0, 2)
    assert x.view(-1, 3).shape == (0, 3)


def test_as_strided_stays_inside_the_storage():
    x = flambeau.zeros(6)
    with pytest.raises(RuntimeError, match="as_strided"):
        x.as_strided((4, 2), (2, 1))
    with pytest.raises(RuntimeError, match="as_strided"):
        x.as_strided((2,), (1,), -1)


def test_real_and_imaginary_parts_are_views():
    z = flambeau.tensor([1 + 2j, 3 - 4j])
    z.real.add_(1)
    z.imag.zero_()
    assert z.tolist() == [2 + 0j, 4 + 0j]


@pytest.mark.parametrize(("shape", "size", "strides"), [
    ((3,), (1, 3), (3, 1)), ((5,), (1, 1, 5), (5, 5, 1)), ((3,), (2, 3), (0, 1)),
    ((1,), (1, 1, 1), (1, 1, 1)), ((3,), (1, 2, 3), (0, 0, 1)), ((), (1, 1), (1, 1)),
])
def test_new_dimensions_of_one_element_step_over_what_follows(shape, size, strides):
    assert flambeau.zeros(shape).expand(size).stride() == strides


def test_ravel_is_contiguous():
    x = flambeau.arange(6)
    assert x[::2].ravel().is_contiguous()
    assert x[::2].ravel().tolist() == [0, 2, 4]
    assert x.view(2, 3).ravel().data_ptr() == x.data_ptr()


def test_conjugates_of_real_numbers_are_the_tensor_itself():
    x = flambeau.ones(2)
    assert x.conj() is x and flambeau.conj(x) is x and x.conj_physical() is x
    assert flambeau.tensor([1 + 2j]).conj().tolist() == [1 - 2j]


def test_swapaxes_knows_the_names_of_numpy():
    x = flambeau.zeros(2, 3, 4)
    assert x.swapaxes(axis0=0, axis1=2).shape == (4, 3, 2)


def test_split_takes_the_names_of_the_function_and_of_the_method():
    x = flambeau.arange(6)
    assert [p.tolist() for p in x.split(split_size=4)] == [[0, 1, 2, 3], [4, 5]]
    assert [len(p) for p in x.split(split_size=[1, 5], dim=0)] == [1, 5]
    assert len(flambeau.split(x, split_size_or_sections=3)) == 2
