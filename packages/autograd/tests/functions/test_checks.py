"""The checker itself."""

import itertools
from functools import partial

import pytest
from numbers_for_tests import complexes, reals

import flambeau
from flambeau.autograd import Function, GradcheckError, gradcheck, gradgradcheck

_both_modes = pytest.mark.parametrize("fast", [False, True])


def test_nothing_to_check():
    with pytest.raises(ValueError, match="none of the inputs requires grad"):
        gradcheck(lambda x: x, reals(2, grad=False))


@_both_modes
def test_single_precision_is_warned_about(fast):
    x = flambeau.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="input 0 is flambeau.float32.*double"):
        assert gradcheck(lambda x: x * 2, x, eps=1e-2, atol=0.1, rtol=0.1, fast_mode=fast)


def test_detached_parts_are_caught():
    with pytest.raises(GradcheckError, match=r"output 0 \(component 0\) by input 0"):
        gradcheck(lambda x: x * x.detach(), reals(2))
    with pytest.raises(GradcheckError, match="output 0 does not require grad, but it depends"):
        gradcheck(lambda x: x.detach() * 2, reals(2))


def test_layout_of_the_input_is_kept():
    strides = []

    def fn(x):
        strides.append(x.stride())
        return x * 2

    gradcheck(fn, reals(2, 3).t())
    assert set(strides) == {(1, 3)}


def test_overlapping_elements_are_refused():
    with pytest.raises(RuntimeError, match="stride 0"):
        gradcheck(lambda x: x, reals(1).detach().expand(3).requires_grad_())


def test_several_outputs_and_constants():
    assert gradcheck(lambda x, n: (x * n, x > 0, x.sum()), (reals(3), 4))
    assert gradcheck(lambda x: flambeau.ones(2), reals(2))
    assert gradcheck(lambda x: x * 2, flambeau.zeros(0, 3, dtype=flambeau.float64,
                                                     requires_grad=True))


@_both_modes
def test_complex(fast):
    check = partial(gradcheck, fast_mode=fast, check_forward_ad=True, check_batched_grad=True)
    assert check(lambda z: z * z.conj() * z, complexes(2))
    assert check(lambda z: z.abs(), complexes(2))
    assert check(lambda x: flambeau.complex(x, x * x), reals(2))
    with pytest.raises(GradcheckError):
        gradcheck(lambda z: z * flambeau.conj(z.detach()), complexes(2), fast_mode=fast)


# ---- inputs behind closures ----------------------------------------------------------------------
@_both_modes
@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
def test_a_tensor_may_be_reached_by_closure(check, fast):
    weight, x = reals(3, 2), reals(2, seed=1).detach()
    before, version = weight.tolist(), weight._version
    assert check(lambda w: (weight @ x).sin(), weight, fast_mode=fast)
    assert (weight.tolist(), weight._version) == (before, version)


# ---- each parameter finds what it is for ---------------------------------------------------------
class Custom(Function):
    """Twice the input; a subclass has something wrong."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return None if grad is None else grad * 2

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 2


class Wrong(Custom):
    @staticmethod
    def backward(ctx, grad):
        return None if grad is None else grad * 2.001


class WrongForward(Custom):
    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 2.001


class Repeated(Custom):
    count = itertools.count()

    @staticmethod
    def backward(ctx, grad):
        return None if grad is None else grad * (2 + 1e-7 * next(Repeated.count))


class NeedsGradient(Custom):
    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class NeverNothing(Custom):
    @staticmethod
    def backward(ctx, grad):
        return flambeau.ones(2, dtype=flambeau.float64) if grad is None else grad * 2


class Reads(Custom):
    @staticmethod
    def backward(ctx, grad):
        return None if grad is None else grad * (2 if grad.sum().item() else 2)


class Affine(Custom):
    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 2 + (tangent == 0)


@pytest.mark.filterwarnings("ignore:Backwards compatibility:UserWarning")
@_both_modes
@pytest.mark.parametrize(("cls", "finds", "ignores", "match"), [
    (Wrong, {}, {"rtol": 1e-2}, "finite differences give"),
    (WrongForward, {"check_forward_ad": True}, {}, "forward mode gives"),
    (Wrong, {}, {"check_backward_ad": False, "check_forward_ad": True}, "the derivative is"),
    (Repeated, {}, {"nondet_tol": 1e-3}, "not reentrant"),
    (NeedsGradient, {}, {"check_undefined_grad": False}, "handle undefined output grads"),
    (NeverNothing, {}, {"check_undefined_grad": False}, "to be undefined or zero"),
    (Reads, {"check_batched_grad": True}, {}, "cannot be computed with vmap"),
])
def test_what_each_parameter_finds(cls, finds, ignores, match, fast):
    with pytest.raises(GradcheckError, match=match):
        gradcheck(cls.apply, reals(2), fast_mode=fast, **finds)
    assert gradcheck(cls.apply, reals(2), fast_mode=fast, raise_exception=False, **finds) is False
    assert gradcheck(cls.apply, reals(2), fast_mode=fast, **ignores)


def test_hooks_must_bear_outputs_without_a_gradient():
    def hooked(x):
        y = x.clone()
        y.register_hook(lambda g: g.sum() and None)
        return y

    with pytest.warns(UserWarning, match="Backwards compatibility"), \
            pytest.raises(GradcheckError, match="handle undefined output grads"):
        gradcheck(hooked, reals(2))


def test_inputs_have_tangents_of_zeros_and_no_history():
    seen = []

    class Sum(Custom):
        @staticmethod
        def forward(ctx, x, y):
            seen.append(x.requires_grad or y.requires_grad)
            return x + y

        @staticmethod
        def jvp(ctx, s, t):
            seen.append(s is None or t is None)
            return s + t

    assert gradcheck(Sum.apply, (reals(2), reals(2, seed=1)), check_forward_ad=True,
                     check_backward_ad=False, check_batched_forward_grad=True)
    assert seen.count(True) == 9         # forward for finite differences alone


@pytest.mark.parametrize(("change", "what"), [
    (lambda x: flambeau.cat([x, x]), "shape"), (lambda x: x.float(), "dtype")])
def test_outputs_that_change_with_the_values(change, what):
    one = flambeau.ones(1, dtype=flambeau.float64, requires_grad=True)
    with pytest.raises(AssertionError, match=f"same {what} when inputs are perturbed"):
        gradcheck(lambda x: change(x) if (x >= 1).all() else x, one)


def test_random_numbers_in_batches_of_tangents():
    class Noisy(Custom):
        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 2 + 0 * flambeau.randn_like(tangent)

    with pytest.raises(GradcheckError, match="random"):
        gradcheck(Noisy.apply, reals(2), check_forward_ad=True, check_batched_forward_grad=True)


def test_tangents_of_zeros():
    with pytest.raises(GradcheckError, match="all input tangents are zero"):
        gradcheck(Affine.apply, reals(1), check_forward_ad=True)


@_both_modes
def test_everything_at_once(fast):
    assert gradcheck(lambda x, y: (x.sin() * y.sum(), x.exp()), (reals(3), reals(3, seed=1)),
                     check_forward_ad=True, check_batched_grad=True, masked=True,
                     check_batched_forward_grad=True, check_grad_dtypes=True, fast_mode=fast)
    assert gradgradcheck(lambda x: x ** 3, reals(3), check_fwd_over_rev=True,
                         check_batched_grad=True, gen_non_contig_grad_outputs=True,
                         check_grad_dtypes=True, fast_mode=fast)
    assert gradgradcheck(lambda x: x ** 3, reals(2), reals(2, seed=1), fast_mode=fast)
    with pytest.raises(GradcheckError):
        gradgradcheck(lambda x: x ** 2 * x.detach(), reals(3), fast_mode=fast)


@pytest.mark.parametrize("options", [
    {"check_backward_ad": False}, {"check_batched_forward_grad": True},
    {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True}])
def test_checks_that_exclude_each_other(options):
    with pytest.raises(AssertionError, match="check_"):
        gradcheck(lambda x: x, reals(1), **options)


def test_gradients_that_a_vmap_left_behind_do_not_stop_the_next_pass():
    def both(x):
        y = x * 2
        y.retain_grad()
        return y * 3, y * x

    x = flambeau.ones(2, dtype=flambeau.float64, requires_grad=True)
    assert flambeau.autograd.gradcheck(both, x, check_batched_grad=True)
