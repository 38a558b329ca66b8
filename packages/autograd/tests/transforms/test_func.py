"""Function transforms: what they give where it can be worked out by hand, and what they refuse."""

import threading

import pytest
from numbers_for_tests import reals

import flambeau
from flambeau import func
from flambeau.autograd import forward_ad
from flambeau.autograd._table import NO_DERIVATIVE, load_rules
from flambeau.autograd.functional import hessian, jacobian
from flambeau.autograd.transforms.batching import batch_way
from flambeau.autograd.transforms.batching.find import _RULES
from flambeau.autograd.transforms.forward import forward_way
from flambeau.autograd.transforms.forward.own import OWN
from flambeau.autograd.transforms.stack import STATE
from flambeau.core.opdefs import OPDEFS

load_rules()


@pytest.fixture(autouse=True)
def no_level_is_left():
    yield
    assert STATE.levels == []
    assert STATE.depth == 0


def _close(a, b):
    assert a.shape == b.shape
    assert (a - b).abs().max().item() < 1e-9


class TestWays:
    """Which rows take which way; a new row must land in one of them."""

    def test_every_differentiable_row_has_tangents(self):
        ways = {row.key: forward_way(row.key) for row in OPDEFS}
        assert set(ways.values()) <= {
            "elementwise", "linear", "product", "rule", "gradient", "none", "composite"}
        for row in OPDEFS:
            if row.category != "composite":
                assert (ways[row.key] == "none") == (row.key in NO_DERIVATIVE)

    def test_definitions_and_rules_agree(self):
        """A rule by hand is where a definition says so, and nowhere else."""
        assert {row.key for row in OPDEFS if row.jvp == "rule"} == set(OWN)
        assert {row.key for row in OPDEFS if row.batching == "rule"} == set(_RULES)

    def test_rows_left_to_the_gradient(self):
        left = {row.key for row in OPDEFS if forward_way(row.key) == "gradient"}
        assert len(left) < 60
        assert not left & {"exp", "matmul", "sum", "conv2d", "softmax", "sort", "max.dim"}

    def test_rows_left_to_a_loop(self):
        load_rules()
        left = {row.key for row in OPDEFS if batch_way(row.key) == "loop"
                and row.key not in NO_DERIVATIVE}
        # The second line is what devices have as one operator; a CPU has other operators.
        assert left == {"cdist_of", "ctc_loss_rows", "ctc_loss_grad", "embedding_bag_rows",
                        "ormqr", "pdist_euclidean",
                        "cross_entropy_rows", "cross_entropy_grad", "native_rms_norm",
                        "rms_norm_grad"}

    def test_refused_rows(self):
        assert {row.key for row in OPDEFS if batch_way(row.key) == "refused"} == {"nonzero"}


class TestGrad:
    def test_polynomial(self):
        x = flambeau.tensor(2.0)
        first, second = func.grad(lambda x: x**4), func.grad(func.grad(lambda x: x**4))
        assert (first(x).item(), second(x).item()) == (32.0, 48.0)
        assert not first(x).requires_grad

    def test_perturbations_do_not_mix(self):
        """d/dx [x * d/dy (x + y)] is 1."""
        inner = lambda x: x * func.grad(lambda y: x + y)(flambeau.tensor(1.0))  # noqa: E731
        assert func.grad(inner)(flambeau.tensor(1.0)).item() == 1.0
        assert func.jvp(lambda x: x * func.jvp(
            lambda y: x + y, (flambeau.tensor(1.0),), (flambeau.tensor(1.0),))[1],
            (flambeau.tensor(1.0),), (flambeau.tensor(1.0),))[1].item() == 1.0

    def test_inner_no_grad_is_respected_and_outer_is_not(self):
        def half(x):
            with flambeau.no_grad():
                constant = x * x
            return (x * x - constant).sum()
        x = reals(3).detach()
        _close(func.grad(half)(x), 2 * x)
        with flambeau.no_grad():
            _close(func.grad(lambda x: (x * x).sum())(x), 2 * x)

    def test_gradients_of_the_tape_inside(self):
        def f(x):
            y = flambeau.ones(3, dtype=x.dtype, requires_grad=True)
            grad, = flambeau.autograd.grad((y * y).sum(), y)
            return (x * grad).sum()
        _close(func.grad(f)(reals(3).detach()), 2 * flambeau.ones(3, dtype=flambeau.float64))

    def test_second_use_of_a_vjp(self):
        value, pull = func.vjp(lambda x: x * x, reals(3).detach())
        one = flambeau.ones(3, dtype=value.dtype)
        _close(pull(one)[0] * 2, pull(one * 2)[0])

    @pytest.mark.parametrize(("call", "match"), [
        (lambda x: func.grad(lambda x: x * 2)(x), "scalar tensor, got tensor with 1 dims"),
        (lambda x: func.grad(lambda x: 3)(x), "to return a Tensor, got int"),
        (lambda x: func.grad(lambda x: x.sum(), argnums=1)(x), "only 1 positional"),
        (lambda x: func.grad(lambda x: x.sum(), argnums=[0])(x), "int or Tuple"),
        (lambda x: func.jacfwd(lambda x: x.sum(), argnums=())(x), "must be non-empty"),
        (lambda x: func.grad(lambda x: x.sum())(x.long()), "floating-point and complex"),
        (lambda x: func.grad(lambda x: x.sum(), has_aux=True)(x), "should be a tuple"),
        (lambda x: func.jvp(lambda x: x, x, x), "primals to be a tuple"),
        (lambda x: func.jvp(lambda x: x, (x,), (x, x)), "same python structure"),
        (lambda x: func.jvp(lambda x: x, (x,), (x[:1],)), "shape of its primal"),
        (lambda x: func.jvp(lambda y: x, (x,), (x,), strict=True), "independent"),
        (lambda x: func.vjp(lambda x: x, x)[1]((x, x)), "same as pytree structure"),
    ])
    def test_errors(self, call, match):
        with pytest.raises(RuntimeError, match=match):
            call(reals(3).detach())


    @pytest.mark.parametrize("argnums", [(0, 0), (0, -2), (-1, 1, 0)])
    @pytest.mark.parametrize("transform", [func.grad, func.grad_and_value, func.value_and_grad,
                                           func.jacrev, func.jacfwd, func.hessian])
    def test_an_argument_named_twice(self, transform, argnums):
        one = flambeau.tensor(1.0)
        with pytest.raises(RuntimeError, match="argnums elements must be unique"):
            transform(lambda x, y: x * y, argnums)(one, one)


class TestNumbers:
    """Inputs and outputs of no dimensions."""

    @pytest.mark.parametrize(("transform", "expected"), [
        (func.jacrev, 12), (func.jacfwd, 12), (func.hessian, 12),
        (lambda f: func.jacrev(f, chunk_size=1), 12), (lambda f: func.jacfwd(f, chunk_size=1), 12),
        *[(lambda f, v=v, s=s: lambda x: jacobian(f, x, vectorize=v, strategy=s), 12)
          for v, s in ((False, "reverse-mode"), (True, "reverse-mode"), (True, "forward-mode"))],
        *[(lambda f, v=v, s=s: lambda x: hessian(f, x, vectorize=v, outer_jacobian_strategy=s), 12)
          for v, s in ((False, "reverse-mode"), (True, "reverse-mode"), (True, "forward-mode"))],
    ])
    def test_derivatives(self, transform, expected):
        found = transform(lambda x: x ** 3)(flambeau.tensor(2.0))
        assert (found.shape, found.item()) == ((), expected)

    def test_structures(self):
        two, x = flambeau.tensor(2.0), flambeau.tensor([1.0, 2.0])
        for transform in (func.jacrev, func.jacfwd):
            found = transform(lambda a, b: {"u": a * b.sum(), "v": a * b}, (0, 1))(two, x)
            assert [t.tolist() for t in found["u"]] == [3, [2, 2]]
            assert [t.tolist() for t in found["v"]] == [[1, 2], [[2, 0], [0, 2]]]
            assert func.vmap(transform(lambda a: a ** 3))(x).tolist() == [3, 12]


class TestVmap:
    @pytest.mark.parametrize("fn", [
        flambeau.linalg.eig, flambeau.linalg.eigvalsh, flambeau.linalg.qr, flambeau.linalg.svd,
        flambeau.matrix_exp, flambeau.linalg.det, lambda x: flambeau.atan2(x, flambeau.ones(2)),
        lambda x: x.gather(0, flambeau.zeros(2, 2, dtype=flambeau.int64)),
        lambda x: flambeau.cat([x, flambeau.ones(2, 2)]), lambda x: x.diagonal(0, 0, 1)])
    def test_what_one_sample_cannot_a_batch_cannot(self, fn):
        """Three vectors are no matrix."""
        for call in (fn, func.vmap(fn)):
            with pytest.raises((RuntimeError, IndexError)):
                call(flambeau.ones(3) if call is fn else flambeau.ones(3, 3))

    def test_out_dims_in_a_tuple(self):
        x = flambeau.arange(6).reshape(2, 3)
        assert func.vmap(lambda r: r, out_dims=(1,))(x).tolist() == x.t().tolist()
        assert func.vmap(lambda r: r, out_dims=(-1,), chunk_size=1)(x).tolist() == x.t().tolist()
        with pytest.raises(ValueError, match="out_dims is not compatible"):
            func.vmap(lambda r: (r,), out_dims=(1, 0))(x)

    def test_the_function_sees_one_sample(self):
        seen = []

        def f(x):
            seen.append((tuple(x.shape), x.ndim, x.numel(), x.dtype, x.is_contiguous()))
            return x
        func.vmap(f, in_dims=1)(flambeau.zeros(3, 5))
        assert seen == [((3,), 1, 3, flambeau.float32, False)]

    def test_promotion_sees_numbers_of_a_sample(self):
        """A 0-d float64 sample does not widen float32 samples with dimensions."""
        a, b = flambeau.ones(4, 3), flambeau.ones(4, dtype=flambeau.float64)
        assert func.vmap(lambda a, b: a * b)(a, b).dtype is flambeau.float32
        assert func.vmap(lambda a, b: a.sum() * b)(a, b).dtype is flambeau.float64

    def test_nan_and_empty(self):
        x = flambeau.tensor([[float("nan"), 1.0], [2.0, float("inf")]])
        assert str(func.vmap(lambda r: r.amax())(x)) == str(x.amax(1))
        assert func.vmap(lambda r: r * 2)(flambeau.zeros(0, 3)).shape == (0, 3)
        assert func.vmap(lambda r: r.sum())(flambeau.zeros(3, 0)).tolist() == [0, 0, 0]

    def test_randomness(self):
        x = flambeau.zeros(5, 3)
        draw = lambda r: r + flambeau.rand(3)  # noqa: E731
        different = func.vmap(draw, randomness="different")(x)
        same = func.vmap(draw, randomness="same")(x)
        assert len({tuple(row) for row in different.tolist()}) == 5
        assert len({tuple(row) for row in same.tolist()}) == 1
        with pytest.raises(RuntimeError, match="randomness error mode"):
            func.vmap(draw)(x)

    def test_dropout_of_samples(self):
        drop = lambda r: flambeau.core.ops.dropout(r, 0.5, True)  # noqa: E731
        rows = func.vmap(drop, randomness="different")(flambeau.ones(6, 64)).tolist()
        assert len({tuple(row) for row in rows}) == 6
        rows = func.vmap(drop, randomness="same")(flambeau.ones(6, 64)).tolist()
        assert len({tuple(row) for row in rows}) == 1

    @pytest.mark.parametrize("read", [
        lambda x: x.sum().item(), lambda x: bool(x.sum() > 0), lambda x: float(x[0]),
        lambda x: x.tolist(), lambda x: x.nonzero(), lambda x: x[x > 0], lambda x: x.numpy(),
        lambda x: x.masked_select(x > 0)])
    def test_values_cannot_be_read(self, read):
        with pytest.raises(RuntimeError, match="vmap: .*where\\("):
            func.vmap(lambda x: read(x) and x)(flambeau.ones(2, 3))

    def test_writing_a_batch_into_one_tensor(self):
        shared = flambeau.zeros(3)
        with pytest.raises(RuntimeError, match="into one tensor of shape \\[3\\]"):
            func.vmap(lambda x: shared.add_(x))(flambeau.ones(2, 3))
        assert shared.tolist() == [0, 0, 0]

    def test_writing_into_a_sample(self):
        x = flambeau.arange(6.0).reshape(2, 3)
        func.vmap(lambda row: row.mul_(2))(x)
        assert x.tolist() == [[0, 2, 4], [6, 8, 10]]

    @pytest.mark.parametrize(("call", "match"), [
        (lambda x: func.vmap(lambda: x)(), "got no inputs"),
        (lambda x: func.vmap(lambda a: a, in_dims=(None,))(x), "at least one"),
        (lambda x: func.vmap(lambda a: a, in_dims=2)(x), "in_dim to satisfy"),
        (lambda x: func.vmap(lambda a, b: a, in_dims=(0,))(x, x), "not compatible"),
        (lambda x: func.vmap(lambda a: a, in_dims="0")(x), "expected `in_dims`"),
        (lambda x: func.vmap(lambda a, b: a)(x, 3), "cannot vmap over non-Tensor"),
        (lambda x: func.vmap(lambda a, b: a)(x, x[:1]), "same size"),
        (lambda x: func.vmap(lambda a: 3)(x), "must only return Tensors"),
        (lambda x: func.vmap(lambda a: a, out_dims=(0, 0))(x), "out_dims is not compatible"),
        (lambda x: func.vmap(lambda a: a, chunk_size=0)(x), "chunk_size"),
    ])
    def test_errors(self, call, match):
        with pytest.raises(ValueError, match=match):
            call(flambeau.ones(2, 3))

    def test_a_tensor_that_escaped(self):
        kept = []
        func.vmap(lambda x: kept.append(x) or x)(flambeau.ones(2, 3))
        with pytest.raises(RuntimeError, match="earlier transform"):
            func.vmap(lambda x: x + kept[0])(flambeau.ones(2, 3))
        for use in (lambda x: x + 1, lambda x: x.sum(), lambda x: x[0], lambda x: x @ x,
                    lambda x: flambeau.stack([x, x])):
            with pytest.raises(RuntimeError, match="a vmap that has ended"):
                use(kept[0])

    def test_an_error_inside_leaves_no_level(self):
        with pytest.raises(ZeroDivisionError):
            func.vmap(lambda x: func.jvp(lambda y: y * (1 / 0), (x,), (x,)))(flambeau.ones(2))

    def test_threads_have_levels_of_their_own(self):
        results = []
        threads = [threading.Thread(target=lambda: results.append(
            func.vmap(lambda x: x * 2)(flambeau.ones(3)).tolist())) for _ in range(4)]
        func.vmap(lambda x: [t.start() for t in threads] and [t.join() for t in threads] and x)(
            flambeau.ones(2))
        assert results == [[2.0] * 3] * 4

    @pytest.mark.parametrize(("call", "text"), [
        (lambda f: func.vmap(f)(flambeau.ones(2)),
         "BatchedTensor(lvl=1, bdim=0, value=tensor([1., 1.]))"),
        (lambda f: func.vmap(f, in_dims=1)(flambeau.ones(1, 2)),
         "BatchedTensor(lvl=1, bdim=1, value=tensor([[1., 1.]]))"),
        (lambda f: func.vmap(func.vmap(f, in_dims=1))(flambeau.ones(1, 1, 2)),
         "BatchedTensor(lvl=2, bdim=1, value=BatchedTensor(lvl=1, bdim=0, "
         "value=tensor([[[1., 1.]]])))"),
        (lambda f: func.grad(f)(flambeau.tensor(1.0)),
         "GradTrackingTensor(lvl=1, value=tensor(1.))"),
        (lambda f: func.grad(lambda x: f(x * 2))(flambeau.tensor(1.0)),
         "GradTrackingTensor(lvl=1, value=tensor(2.))"),
        (lambda f: func.grad(func.grad(f))(flambeau.tensor(1.0)),
         "GradTrackingTensor(lvl=2, value=GradTrackingTensor(lvl=1, value=tensor(1.)))"),
        (lambda f: func.vmap(func.grad(f))(flambeau.ones(2)),
         "GradTrackingTensor(lvl=2, value=BatchedTensor(lvl=1, bdim=0, value=tensor([1., 1.])))"),
        (lambda f: func.grad(lambda x: func.vmap(f)(x).sum())(flambeau.ones(2)),
         "BatchedTensor(lvl=2, bdim=0, value=GradTrackingTensor(lvl=1, value=tensor([1., 1.])))"),
        (lambda f: func.jvp(f, (flambeau.ones(2),), (flambeau.ones(2),)),
         "GradTrackingTensor(lvl=1, value=tensor([1., 1.]))"),
        (lambda f: func.grad(lambda x: [f(flambeau.ones(1, requires_grad=True)), x][1])(
            flambeau.tensor(1.0)), "tensor([1.], requires_grad=True)")])
    def test_printing(self, call, text):
        shown = []

        def show(x):
            shown.append(repr(x))
            return x
        call(show)
        assert "".join(line.strip() + " " * line.endswith(",")
                       for line in shown[0].splitlines()) == text


class TestForward:
    def test_linearize_agrees_with_jvp(self):
        x, t = reals(2, 3).detach(), reals(2, 3, seed=1).detach()
        f = lambda x: (x.sin().cumsum(1), x.logsumexp(0))  # noqa: E731
        values, push = func.linearize(f, x)
        for a, b in zip(push(t), func.jvp(f, (x,), (t,))[1], strict=True):
            _close(a, b)
            assert not a.requires_grad

    def test_a_dual_is_a_constant_after_its_block(self):
        x = flambeau.ones(2)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, x * 3)
        assert forward_ad.unpack_dual(dual).tangent is None
        assert (dual + 1).tolist() == [2.0, 2.0]

    def test_blocks(self):
        with pytest.raises(RuntimeError, match="no level exists"):
            forward_ad.make_dual(flambeau.ones(1), flambeau.ones(1))
        with forward_ad.dual_level(), pytest.raises(RuntimeError, match="Nested"):
            forward_ad.enter_dual_level()

    def test_views_of_a_dual_share_its_tangent(self):
        def f(x):
            y = x.clone()
            row = y[0]
            y.mul_(2)
            row.add_(x[1])
            return y
        x, t = reals(2, 3).detach(), reals(2, 3, seed=1).detach()
        moved = func.jvp(f, (x,), (t,))[1]
        _close(moved, flambeau.stack([2 * t[0] + t[1], 2 * t[1]]))


class Scale:
    """The least that functional_call asks of a module."""

    training = True

    def __init__(self, factor):
        self._parameters = {"factor": flambeau.tensor(factor, requires_grad=True)}
        self._buffers = {"shift": flambeau.tensor(1.0)}

    def named_parameters(self, remove_duplicate=True):
        return self._parameters.items()

    def named_buffers(self, remove_duplicate=True):
        return self._buffers.items()

    def __call__(self, x):
        return x * self._parameters["factor"] + self._buffers["shift"]


class TestModules:
    def test_call_with_other_parameters(self):
        module = Scale(2.0)
        own = module._parameters["factor"]
        result = func.functional_call(module, {"factor": flambeau.tensor(5.0)}, flambeau.ones(2))
        assert result.tolist() == [6.0, 6.0]
        assert module._parameters["factor"] is own
        slope = func.grad(lambda p: func.functional_call(module, p, (flambeau.tensor(3.0),)))
        assert slope({"factor": flambeau.tensor(5.0)})["factor"].item() == 3.0

    def test_ensemble(self):
        models = [Scale(1.0), Scale(2.0), Scale(3.0)]
        params, buffers = func.stack_module_state(models)
        assert params["factor"].is_leaf
        result = func.vmap(lambda p, b: func.functional_call(
            models[0], (p, b), (flambeau.tensor(10.0),)))(params, buffers)
        assert result.tolist() == [11.0, 21.0, 31.0]

    def test_errors(self):
        module, x = Scale(2.0), flambeau.ones(1)
        with pytest.raises(RuntimeError, match="missing key.*'shift'.*unexpected key.*'facto'"):
            func.functional_call(module, {"factor": x, "facto": x}, x, strict=True)
        with pytest.raises(ValueError, match="several dictionaries"):
            func.functional_call(module, [{"factor": x}, {"factor": x}], x)
        with pytest.raises(RuntimeError, match="at least one model"):
            func.stack_module_state([])
