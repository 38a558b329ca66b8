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
