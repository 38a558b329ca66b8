"""Assignments to x.real and x.imag, and tensors as ones of a subclass, in a graph."""

import pytest

import flambeau


class Marked(flambeau.Tensor):
    pass


class TestSubclasses:
    def test_is_a_view_with_history(self):
        x = flambeau.ones(3, requires_grad=True)
        s = x.as_subclass(Marked)
        assert type(s) is Marked and s._base is x and not s.is_leaf and s.requires_grad
        s.sum().backward()
        assert x.grad.tolist() == [1.0, 1.0, 1.0]

    @pytest.mark.parametrize("write_to_view", [True, False])
    def test_writes_are_seen_on_both_sides(self, write_to_view):
        x = flambeau.ones(3, requires_grad=True)
        y = x * 2
        s = y.as_subclass(Marked)
        (s if write_to_view else y).mul_(2)
        (y if write_to_view else s).sum().backward()
        assert x.grad.tolist() == [4.0, 4.0, 4.0]

    def test_without_history(self):
        with flambeau.no_grad():
            s = flambeau.ones(2, requires_grad=True).as_subclass(Marked)
        assert not s.requires_grad and s.is_leaf

    def test_inside_a_transform(self):
        def function(x):
            return (x.as_subclass(Marked) ** 2).sum()

        x = flambeau.tensor([1.0, 2.0])
        assert flambeau.func.grad(function)(x).tolist() == [2.0, 4.0]
        assert flambeau.func.jvp(function, (x,), (x,))[1].item() == 10.0
        assert flambeau.func.vmap(function)(x[:, None]).tolist() == [1.0, 4.0]

    def test_leaf_is_protected(self):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
            flambeau.ones(3, requires_grad=True).as_subclass(Marked).mul_(2)


class TestParts:
    def test_values(self):
        x = flambeau.ones(3, dtype=flambeau.complex64)
        x.real, x.imag = flambeau.arange(3.0), 5
        assert x.tolist() == [5j, 1 + 5j, 2 + 5j]
        x.imag = flambeau.arange(3)
        assert x.tolist() == [0, 1 + 1j, 2 + 2j]

    def test_real_tensors(self):
        x = flambeau.ones(2)
        x.real = flambeau.arange(2.0)
        assert x.tolist() == [0.0, 1.0]
        with pytest.raises(RuntimeError, match="imag"):
            x.imag = 1.0

    def test_gradients(self):
        x = flambeau.ones(2, requires_grad=True)
        z = flambeau.zeros(2, dtype=flambeau.complex64)
        z.real, z.imag = x * 3, x * 4
        z.abs().sum().backward()
        assert x.grad.tolist() == [5.0, 5.0]

    def test_what_was_there_has_no_gradient(self):
        x = flambeau.ones(2, dtype=flambeau.complex64, requires_grad=True)
        z = x.clone()
        z.imag = 0.0
        flambeau.view_as_real(z).sum().backward()
        assert x.grad.tolist() == [1.0, 1.0]

    @pytest.mark.parametrize("value", ["a", flambeau.ones(3)], ids=["text", "shape"])
    def test_refusals(self, value):
        x = flambeau.ones(2, dtype=flambeau.complex64)
        with pytest.raises((TypeError, RuntimeError)):
            x.real = value
        with pytest.raises(RuntimeError, match="a view of a leaf"):
            x.requires_grad_().real = 1.0


class Labelled(flambeau.Tensor):
    """Made as NumPy's classes are: of a tensor, and of something else."""

    @staticmethod
    def __new__(cls, values, labels):
        return super().__new__(cls, values)

    def __init__(self, values, labels):
        self.labels = labels


@pytest.mark.parametrize("make", [
    flambeau.Tensor, lambda x: Labelled(x, "ab"), lambda x: x.new(x),
    lambda x: flambeau.FloatTensor(x)], ids=["Tensor", "subclass", "new", "FloatTensor"])
def test_a_tensor_of_a_tensor_is_a_view_of_it(make):
    x = flambeau.ones(2, requires_grad=True)
    for source in (x, x * 1):
        y = make(source)
        assert y.requires_grad and not y.is_leaf and y.data_ptr() == source.data_ptr()
        assert y._is_view()
        x.grad = None
        (y * 3).sum().backward()
        assert x.grad.tolist() == [3, 3]
    with flambeau.no_grad():
        assert not make(x).requires_grad
    plain = flambeau.zeros(2)
    y = make(plain)
    assert not y.requires_grad and y.is_leaf
    y.add_(1)
    assert plain.tolist() == [1, 1] and plain._version == y._version == 1
    written = x * 1
    make(written).mul_(2)
    x.grad = None
    written.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_tensor_of_numbers_has_no_history():
    for y in (flambeau.Tensor([1.0, 2.0]), Labelled([1.0, 2.0], "ab"), flambeau.Tensor(2)):
        assert y.is_leaf and not y.requires_grad and not y._is_view()
    y = Labelled([1.0, 2.0], "ab").requires_grad_()
    y.sum().backward()
    assert y.grad.tolist() == [1, 1] and y.labels == "ab"
