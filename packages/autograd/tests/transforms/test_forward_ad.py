"""Tangents in ``dual_level`` blocks: layout, memory, texts, refusals."""

import pytest

import flambeau
from flambeau.autograd import forward_ad


@pytest.fixture
def block():
    with forward_ad.dual_level():
        yield


def dual_of(*values):
    x = flambeau.tensor(values)
    return forward_ad.make_dual(x, flambeau.ones(len(values)))


def tangent_of(x):
    return forward_ad.unpack_dual(x).tangent


@pytest.mark.usefixtures("block")
class TestLayout:
    def test_a_tangent_laid_out_like_its_value_is_used_itself(self):
        t = flambeau.ones(2)
        assert tangent_of(forward_ad.make_dual(flambeau.zeros(2), t)) is t

    @pytest.mark.parametrize(("x", "t"), [
        (flambeau.zeros(2, 3), flambeau.ones(3, 2).t()),
        (flambeau.zeros(5)[:4], flambeau.ones(4)),
        (flambeau.zeros(5)[1:], flambeau.ones(5)[:4]),
    ], ids=["strides", "memory", "offset"])
    def test_others_are_copied(self, x, t):
        found = tangent_of(forward_ad.make_dual(x, t))
        assert found is not t and found.tolist() == t.tolist()
        assert found.stride() == x.stride() and found.storage_offset() == x.storage_offset()
        found.mul_(2)
        assert t.max().item() == 1.0

    def test_another_dtype_is_converted(self):
        dual = forward_ad.make_dual(flambeau.zeros(2), flambeau.ones(2, dtype=flambeau.float64))
        assert tangent_of(dual).dtype is flambeau.float32
        with pytest.raises(RuntimeError, match="moves along real numbers"):
            forward_ad.make_dual(flambeau.zeros(2), flambeau.ones(2) * 1j)

    def test_an_expanded_value_takes_any_tangent(self):
        dual = forward_ad.make_dual(flambeau.ones(1).expand(2), flambeau.tensor([1.0, 2.0]))
        assert tangent_of(dual * 3).tolist() == [3.0, 6.0]

    def test_as_strided_reaches_all_of_the_memory(self):
        dual = forward_ad.make_dual(flambeau.zeros(3)[:2], flambeau.ones(2))
        assert tangent_of(dual.as_strided((3,), (1,), 0)).tolist() == [1.0, 1.0, 0.0]

    def test_writes_change_the_tangent_that_was_given(self):
        t = flambeau.ones(2)
        dual = forward_ad.make_dual(flambeau.ones(2), t)
        dual *= 2
        dual[:1] *= 3
        assert t.tolist() == [6.0, 2.0] and tangent_of(dual).tolist() == [6.0, 2.0]


def _written(t):
    dual = forward_ad.make_dual(flambeau.ones(2), flambeau.ones(2))
    return tangent_of(dual.add_(forward_ad.make_dual(flambeau.ones(2), t)))


def _in_a_block(t):
    with forward_ad.dual_level():
        return _written(t)


class TestBatches:
    def test_tangents_have_room_of_their_own(self):
        found = flambeau.func.vmap(_in_a_block)(flambeau.tensor([[1.0, 2.0], [3.0, 4.0]]))
        assert found.tolist() == [[2.0, 3.0], [4.0, 5.0]]

    @pytest.mark.usefixtures("block")
    def test_duals_of_a_block_around_vmap(self):
        def f(t):
            dual = forward_ad.make_dual(flambeau.tensor([1.0, 2.0]), t)
            return tangent_of(dual * dual)
        found = flambeau.func.vmap(f)(flambeau.tensor([[1.0, 2.0], [3.0, 4.0]]))
        assert found.tolist() == [[2.0, 8.0], [6.0, 16.0]]
        dual = forward_ad.make_dual(flambeau.ones(2, 2), flambeau.tensor([[1.0, 2], [3, 4]]))
        assert flambeau.func.vmap(lambda x: tangent_of(x * 2))(dual).tolist() == [[2, 4], [6, 8]]

    @pytest.mark.usefixtures("block")
    def test_jvp_inside_the_block_is_refused(self):
        with pytest.raises(RuntimeError, match="begin the block inside the function"):
            flambeau.func.jvp(tangent_of, (flambeau.ones(2),), (flambeau.ones(2),))


@pytest.mark.usefixtures("block")
class TestUnpacking:
    def test_the_value_is_a_view_of_its_own(self):
        dual = dual_of(1.0, 2.0)
        first, second = forward_ad.unpack_dual(dual).primal, forward_ad.unpack_dual(dual).primal
        assert first is not second
        first.mul_(2)
        assert second.tolist() == [2.0, 4.0] and tangent_of(dual).tolist() == [1.0, 1.0]

    def test_detach_in_place_drops_the_tangent(self):
        dual = dual_of(1.0).clone()
        dual.detach_()
        assert tangent_of(dual * 2) is None

    def test_text(self):
        dual = dual_of(1.0, 2.0)
        assert repr(dual) == "tensor([1., 2.], tangent=tensor([1., 1.]))"
        assert repr(forward_ad.unpack_dual(dual).primal) == "tensor([1., 2.])"


@pytest.mark.usefixtures("block")
class TestRefusals:
    def test_tangents_of_integers(self):
        with pytest.raises(ValueError, match="Expected tangent to be floating point or complex"):
            forward_ad.make_dual(flambeau.ones(2), flambeau.ones(2, dtype=flambeau.int64))

    def test_sizes(self):
        with pytest.raises(RuntimeError, match="forward gradient that has a different size"):
            forward_ad.make_dual(flambeau.ones(2), flambeau.ones(3))

    @pytest.mark.parametrize("call", [
        lambda dual, x: flambeau.add(x, x, out=dual), lambda dual, x: flambeau.add(dual, x, out=x),
    ], ids=["target", "argument"])
    def test_out(self, call):
        with pytest.raises(RuntimeError, match="out= function"):
            call(dual_of(1.0), flambeau.ones(1))
