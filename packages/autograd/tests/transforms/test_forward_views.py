"""Forward mode through views and writes, whatever came first."""

import pytest

import flambeau
from flambeau.autograd import forward_ad
from flambeau.func import jvp

VALUE, TANGENT = [1.0, 2.0, 3.0], [10.0, 20.0, 30.0]


def view_then_base(y):
    b = flambeau.zeros(3)
    v = b[:2]
    b.copy_(y)
    return v


def base_then_view(y):
    b = flambeau.zeros(3)
    v = b[:2]
    v.copy_(y[:2])
    return b


def another_view(y):
    b = flambeau.zeros(3)
    v, w = b[:2], b[1:]
    v.copy_(y[:2])
    return w


def view_of_a_view(y):
    b = flambeau.zeros(3)
    w = b[:2][1:]
    b.copy_(y)
    w.mul_(2)
    return b


def zeroed_view(y):
    b = flambeau.zeros(3)
    v = b[:2]
    b.copy_(y)
    v.zero_()
    return b


def view_without_recording(y):
    b = flambeau.zeros(3)
    with flambeau.no_grad():
        v = b[:2]
    b.copy_(y)
    return v


def detached(y):
    b = flambeau.zeros(3)
    v = b.detach()
    b.copy_(y)
    return v


def real_part(y):
    b = flambeau.zeros(3, dtype=flambeau.complex64)
    v = b.imag
    b.copy_(y * (1 + 2j))
    return v


def under_a_real_part(y):
    b = flambeau.zeros(3, dtype=flambeau.complex64)
    b.imag.copy_(y)
    return flambeau.view_as_real(b)[:, 1]


def pairs(y):
    b = flambeau.zeros(3, 2)
    v = flambeau.view_as_complex(b)
    w = v.real
    v.copy_(y * (1 + 2j))
    w.mul_(3)
    return b


def part_of_a_product(y):
    z = y * (1 + 1j)
    w = z.imag
    z.mul_(2j)
    return w


CASES = [
    (view_then_base, [1, 2]), (base_then_view, [1, 2, 0]), (another_view, [2, 0]),
    (view_of_a_view, [1, 4, 3]), (zeroed_view, [0, 0, 3]), (view_without_recording, [1, 2]),
    (real_part, [2, 4, 6]), (under_a_real_part, [1, 2, 3]), (pairs, [[3, 2], [6, 4], [9, 6]]),
    (part_of_a_product, [2, 4, 6]),
]


@pytest.mark.parametrize("times", [1, 2], ids=["alone", "used"])
@pytest.mark.parametrize(("function", "expected"), CASES, ids=lambda c: getattr(c, "__name__", ""))
def test_tangent(function, expected, times):
    y, t = flambeau.tensor(VALUE), flambeau.tensor(TANGENT)
    expected = flambeau.tensor(expected, dtype=flambeau.float32) * times

    def used(y):
        result = function(y)
        return result if times == 1 else flambeau.stack([result, result]).sum(0)

    value, tangent = jvp(used, (y,), (t,))
    assert value.tolist() == expected.tolist() and tangent.tolist() == (expected * 10).tolist()
    with forward_ad.dual_level():
        value, tangent = forward_ad.unpack_dual(used(forward_ad.make_dual(y, t)))
        assert value.tolist() == expected.tolist()
        assert tangent.tolist() == (expected * 10).tolist()


def test_detached_tensors_are_constants():
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(flambeau.tensor(VALUE), flambeau.tensor(TANGENT))
        assert forward_ad.unpack_dual(detached(dual)).tangent is None


def test_what_was_written_is_a_constant_in_the_next_block():
    b = flambeau.zeros(3)
    v = b[:2]
    for _ in range(2):
        with forward_ad.dual_level():
            assert forward_ad.unpack_dual(v * 2).tangent is None
            b.copy_(forward_ad.make_dual(flambeau.tensor(VALUE), flambeau.tensor(TANGENT)))
            assert forward_ad.unpack_dual(v * 2).tangent.tolist() == [20.0, 40.0]
    assert (b + v[0]).tolist() == [2.0, 3.0, 4.0]


@pytest.mark.parametrize("also", [False, True])
def test_tensors_without_tangent_are_differentiated_beside_duals(also):
    """x*x*y for y=[5, 7] moving by [1, 2]: its gradient 2*x*y moves by 2*x*[1, 2]."""
    x = flambeau.tensor([2.0, 3.0], requires_grad=True)
    y = flambeau.tensor([5.0, 7.0], requires_grad=also)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(y, flambeau.tensor([1.0, 2.0]))
        grad, = flambeau.autograd.grad((x * x * dual).sum(), x, create_graph=True)
        value, tangent = forward_ad.unpack_dual(grad)
        assert value.tolist() == [20, 42] and tangent.tolist() == [4, 12]
        written = x.clone()
        written.mul_(dual)
        (written * written).sum().backward()
        assert forward_ad.unpack_dual(x.grad).primal.tolist() == [100, 294]


def into_integers(y):
    n = flambeau.zeros(3, dtype=flambeau.int64)
    n.copy_(y)
    return n * 1.0


@pytest.mark.parametrize("function", [
    lambda y: y.int().float(), lambda y: y.to(flambeau.bool) * 1.0, into_integers,
    lambda y: flambeau.zeros(3, dtype=flambeau.int64).put_(flambeau.arange(3), y.long()).float(),
], ids=["int", "bool", "copy", "put"])
def test_integers_stand_still(function):
    y, t = flambeau.tensor(VALUE), flambeau.tensor(TANGENT)
    assert jvp(function, (y,), (t,))[1].tolist() == [0.0, 0.0, 0.0]
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(function(forward_ad.make_dual(y, t))).tangent is None
    assert jvp(lambda y: y.long() * y, (y,), (t,))[1].tolist() == [10.0, 40.0, 90.0]
