"""set_(), .data = ... and views that change themselves, beside autograd."""

import pytest

import flambeau


def leaf(*shape):
    return flambeau.ones(shape, requires_grad=True)


class TestSet:
    def test_leaf_without_recording(self):
        x = leaf(3)
        with flambeau.no_grad():
            assert x.set_(flambeau.arange(4.0)) is x
        (x * 2).sum().backward()
        assert x.is_leaf and x.grad.tolist() == [2.0] * 4

    def test_refusals(self):
        with pytest.raises(RuntimeError, match=r"a leaf Variable.*no_grad\(\)"):
            leaf(3).set_(flambeau.arange(4.0))
        for mode in (flambeau.no_grad, flambeau.enable_grad):
            with mode(), pytest.raises(RuntimeError, match="cannot resize variables"):
                computed().set_(flambeau.arange(4.0))


def computed():
    with flambeau.enable_grad():
        return leaf(3) * 2


class TestData:
    def test_dtype_of_a_leaf(self):
        x = leaf(3)
        with pytest.raises(RuntimeError, match="must be floating point or complex dtype"):
            x.data = flambeau.zeros(3, dtype=flambeau.int64)
        x.data = flambeau.zeros(3, dtype=flambeau.float64)
        (x * 2).sum().backward()
        assert x.grad.dtype is flambeau.float64

    def test_shape_of_a_leaf(self):
        x = leaf(3)
        x.data = flambeau.zeros(4)
        (x * 2).sum().backward()
        assert x.grad.tolist() == [2.0] * 4


class TestChangedViews:
    @pytest.mark.parametrize(("take", "error"), [
        (lambda x: x[0], "a view of a leaf Variable"),
        (lambda x: x, "a leaf Variable"),
        (lambda x: (x * 1).unbind()[0], "returns multiple views"),
    ], ids=["view of a leaf", "leaf", "one of several"])
    @pytest.mark.parametrize("change", [
        lambda x: x.unsqueeze_(0), lambda x: x.squeeze_(), lambda x: x.t_(),
    ], ids=["unsqueeze", "squeeze", "t"])
    def test_refusals(self, take, error, change):
        with pytest.raises(RuntimeError, match=error):
            change(take(leaf(2, 3)))

    def test_view_without_recording(self):
        y = leaf(2, 3) * 1
        with flambeau.no_grad():
            v = y.view(-1)
        with pytest.raises(RuntimeError, match="created in no_grad mode"):
            v.unsqueeze_(0)
        with flambeau.no_grad():
            assert v.unsqueeze_(0).shape == (1, 6)

    def test_inference_tensor(self):
        with flambeau.inference_mode():
            x = flambeau.ones(2, 3)
            x.t_()
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            x.t_()


class TestOneTangent:
    """A tensor has one tangent in a block, and a function one method for gradients."""

    def test_make_dual_twice(self):
        from flambeau.autograd import forward_ad

        with forward_ad.dual_level():
            x = forward_ad.make_dual(flambeau.ones(4), flambeau.ones(4))
            for dual in (x, x[:2]):
                with pytest.raises(RuntimeError, match="already has a forward gradient"):
                    forward_ad.make_dual(dual, flambeau.ones(dual.shape))
            with pytest.raises(RuntimeError, match="that itself has a forward gradient"):
                forward_ad.make_dual(flambeau.ones(4), x)

    def test_vjp_is_backward(self):
        class Doubled(flambeau.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def vjp(ctx, g):
                return g * 2

        class Both(Doubled):
            backward = Doubled.vjp

        x = leaf(2)
        Doubled.apply(x).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]
        with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
            Both.apply(x).sum().backward()


def test_what_was_saved_and_resized_since_is_refused():
    constant = flambeau.ones(1)
    constant.add_(1)
    y = leaf(3) * constant
    constant.resize_(3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
