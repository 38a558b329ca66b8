"""Classes of programs: what their `__new__` passes to `Tensor`, and what is asked of other ones."""
from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor


class Named(Tensor):
    def __new__(cls, data, *, name=""):
        return super().__new__(cls, data)

    def __init__(self, data, *, name=""):
        self.name = name


class Below(Named):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return Tensor.__torch_dispatch__(func, types, args, kwargs)


@pytest.mark.parametrize("kind", [Named, Below])
@pytest.mark.parametrize("data", [
    flambeau.arange(6.0).reshape(2, 3).t(), flambeau.empty(0, 4), flambeau.tensor(3.0),
    flambeau.tensor([float("nan")]), flambeau.ones(2, 3)[:, 1:]], ids=str)
def test_a_tensor_is_shared(kind, data):
    made = kind(data, name="it")
    assert type(made) is kind and made.name == "it"
    assert made.shape == data.shape and made.stride() == data.stride()
    assert made.data_ptr() == data.data_ptr() and not made.requires_grad
    made.fill_(7.0)
    assert data.flatten().tolist() == [7.0] * data.numel()


def test_sequences_and_sizes_are_taken_as_by_tensor_itself():
    assert Named([[1, 2], [3, 4]]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert Named(flambeau.Size([2, 0])).shape == (2, 0)
    with pytest.raises(TypeError, match="dtype of str"):
        Named("text")


def test_gradients_pass_to_what_it_was_made_of():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    data = flambeau.ones(2, requires_grad=True)
    made = Named(data * 2)
    assert made.requires_grad and not made.is_leaf
    (made * 3).sum().backward()
    assert data.grad.tolist() == [6.0, 6.0]


def test_classes_that_fill_themselves_still_do():
    class Late(Tensor):
        def __init__(self, name, data):
            super().__init__(data)
            self.name = name

    class Inherited(Named):
        pass

    made = Late("it", [1, 2])
    assert made.tolist() == [1.0, 2.0] and made.name == "it"
    assert Inherited([1]).tolist() == [1.0]
    blank = Tensor.__new__(Named)
    assert blank.numel() in (0, 1)


def test_questions_are_shown_to_classes_that_are_no_tensors():
    class Like:
        def __init__(self, values):
            self.values = values

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*(each.values if isinstance(each, cls) else each for each in args))

    like = Like(flambeau.ones(2, 3, dtype=flambeau.complex64))
    assert flambeau.is_complex(like) and not flambeau.is_floating_point(like)
    assert flambeau.numel(like) == 6
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        flambeau.is_complex(3)
