"""Custom functions."""

import gc
import weakref

import pytest
from numbers_for_tests import reals

import flambeau
from flambeau.autograd import Function, gradcheck, gradgradcheck
from flambeau.autograd.function import once_differentiable


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 3 * x**2


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * y


class Scaled(Function):
    """Two inputs, a number, two outputs."""

    @staticmethod
    def forward(ctx, x, w, factor):
        ctx.factor = factor
        ctx.save_for_backward(x, w)
        return x * w * factor, x + w

    @staticmethod
    def backward(ctx, g, h):
        x, w = ctx.saved_tensors
        return g * w * ctx.factor + h, g * x * ctx.factor + h, None


def test_first_and_second_order():
    assert gradcheck(Cube.apply, reals(3))
    assert gradgradcheck(Cube.apply, reals(3))
    assert gradcheck(Exp.apply, reals(3))
    assert gradgradcheck(Exp.apply, reals(3))
    assert gradcheck(lambda x, w: Scaled.apply(x, w, 2.0), (reals(3), reals(3, seed=1)))


def test_a_wrong_backward_is_caught():
    class Wrong(Cube):
        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return g * 3 * x**2 * 1.001

    with pytest.raises(flambeau.autograd.GradcheckError, match="finite differences give"):
        gradcheck(Wrong.apply, reals(3, low=1.0), rtol=1e-4)


def test_name_and_context():
    x = reals(2)
    y = Cube.apply(x)
    assert y.grad_fn.name() == "CubeBackward"
    assert y.grad_fn.saved_tensors[0] is x
    assert y.grad_fn.needs_input_grad == (True,)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="a second time"):
        assert y.grad_fn.saved_tensors


def test_unused_outputs_are_zeros_or_none():
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, g, h):
            seen.append(h)
            return g, None

    for materialize in (True, False):
        Two.apply(reals(2), materialize)[0].sum().backward()
    assert seen[0].tolist() == [0.0, 0.0]
    assert seen[1] is None


def test_needs_input_grad():
    class Check(Function):
        @staticmethod
        def forward(ctx, x, w, n):
            assert ctx.needs_input_grad == (True, False, False)
            return x * w

        @staticmethod
        def backward(ctx, g):
            return g, None, None

    Check.apply(reals(2), reals(2, grad=False), 3).sum().backward()


def test_setup_context():
    class Square(Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    assert gradcheck(Square.apply, reals(3))


def test_mark_non_differentiable():
    class SortBoth(Function):
        @staticmethod
        def forward(ctx, x):
            values, indices = x.sort()
            ctx.mark_non_differentiable(indices)
            ctx.indices = indices
            return values, indices

        @staticmethod
        def backward(ctx, g, _):
            return flambeau.zeros_like(g).scatter_(0, ctx.indices, g)

    values, indices = SortBoth.apply(reals(3))
    assert values.requires_grad and not indices.requires_grad
    assert gradcheck(lambda x: SortBoth.apply(x)[0], reals(3))


def test_mark_dirty():
    class Double_(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = reals(2)
    y = x * 1
    z = Double_.apply(y)
    assert z is y and y.grad_fn.name() == "Double_Backward"
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="a leaf Variable"):
        Double_.apply(reals(2))


def test_an_input_returned_unchanged():
    class Reverse(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return -g

    x = reals(2)
    y = Reverse.apply(x)
    assert y is not x and x.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [-1.0, -1.0]


def test_saved_tensors_are_guarded():
    x = reals(2)
    y = x * 1
    z = Cube.apply(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="CubeBackward saved one of its inputs"):
        z.sum().backward()


def test_once_differentiable():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    x = reals(2)
    Once.apply(x).sum().backward()
    g, = flambeau.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    seed = flambeau.ones_like(g).requires_grad_()
    g, = flambeau.autograd.grad(Once.apply(x), x, seed, create_graph=True)
    with pytest.raises(RuntimeError, match="@once_differentiable"):
        g.sum().backward()


class TestErrors:
    def test_wrong_number_of_gradients(self):
        class Bad(Cube):
            @staticmethod
            def backward(ctx, g):
                return g, g

        with pytest.raises(RuntimeError, match=r"expected 1, got 2"):
            Bad.apply(reals(2)).sum().backward()

    def test_not_a_tensor(self):
        class Bad(Cube):
            @staticmethod
            def backward(ctx, g):
                return 3.0

        with pytest.raises(RuntimeError, match="BadBackward.*input 0.*not float"):
            Bad.apply(reals(2)).sum().backward()

    def test_saving_a_number(self):
        class Bad(Cube):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(3)
                return x * 1

        with pytest.raises(TypeError, match="keep other values as attributes"):
            Bad.apply(reals(2))
        for x in (reals(2).detach(), 2.0):      # without a backward nothing is kept
            assert Bad.apply(x) is not None
        with flambeau.no_grad():
            assert Bad.apply(reals(2)).shape == (2,)

    def test_missing_methods(self):
        class Empty(Function):
            pass

        with pytest.raises(NotImplementedError, match="static method forward"):
            Empty.apply(reals(2))
        with pytest.warns(DeprecationWarning, match="Empty.apply"):
            Empty()


def test_nothing_is_recorded_when_nothing_requires_grad():
    assert not Cube.apply(reals(2, grad=False)).requires_grad
    with flambeau.no_grad():
        assert not Cube.apply(reals(2)).requires_grad


def test_contexts_are_freed_without_the_collector():
    class Token:
        pass

    class Keeps(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.token = Token()
            seen.append(weakref.ref(ctx.token))
            y = x.exp()
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g

    seen = []
    gc.collect()
    gc.disable()
    try:
        y = Keeps.apply(reals(2))
        del y
        assert seen[0]() is None
    finally:
        gc.enable()


def test_wrong_shape_of_a_gradient():
    class Bad(Cube):
        @staticmethod
        def backward(ctx, g):
            return g.sum()

    with pytest.raises(RuntimeError, match=r"BadBackward returned an invalid gradient.*\[\].*2 el"):
        Bad.apply(reals(2)).sum().backward()


def test_a_context_outside_its_graph():
    kept = []

    class Keeps(Exp):
        @staticmethod
        def forward(ctx, x):
            kept.append(ctx)
            return Exp.forward(ctx, x)

    y = Keeps.apply(reals(2))
    saved, = kept[0].saved_tensors
    assert saved.tolist() == y.tolist()
    y.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        assert kept[0].saved_tensors


def test_saved_variables_warns():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_variables
            return 2 * g * x

    x = flambeau.tensor(3.0, requires_grad=True)
    y = Square.apply(x)
    with pytest.warns(DeprecationWarning, match="use 'saved_tensors'"):
        y.backward()
    assert x.grad.item() == 6


def test_objects_of_functions_are_good_for_nothing():
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        cube = Cube()
    assert isinstance(cube, Cube)
    with pytest.raises(RuntimeError, match="non-static forward method is deprecated"):
        cube(reals(2))


def test_a_saved_output_has_its_history_in_a_backward_that_is_not_recorded():
    seen = []

    class Root(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.sqrt()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            y, = ctx.saved_tensors
            with flambeau.enable_grad():        # the slope of y * y at y, as solvers compute it
                slope, = flambeau.autograd.grad((y * y).sum(), y)
            seen.append((y.requires_grad, y.grad_fn is not None))
            return g / slope

    x = flambeau.tensor([1.0, 4.0], requires_grad=True)
    Root.apply(x).sum().backward()
    assert x.grad.tolist() == [0.5, 0.25]
    assert seen == [(True, True)]


class OwnNames(Function):
    """Methods that a program calls as it likes."""

    @staticmethod
    def _forward(x):
        return x * 2

    @staticmethod
    def _applied(g):
        return g * 2

    @staticmethod
    def forward(ctx, x):
        return OwnNames._forward(x)

    @staticmethod
    def backward(ctx, g):
        return OwnNames._applied(g)


def test_names_of_programs_are_free():
    private = [name for name in vars(Function) if name[0] == "_" and name[1] != "_"]
    assert private == ["_backward_cls"]    # which PyTorch has
    x = flambeau.ones(2, requires_grad=True)
    y = OwnNames.apply(x)
    y.sum().backward()
    assert y.tolist() == x.grad.tolist() == [2.0, 2.0]
