"""What functions of transforms must not do, and what they must return."""
import collections

import pytest

import flambeau as fl
from flambeau import func
from flambeau.autograd import functional

X = fl.tensor([1.0, 2.0, 3.0])
CALLS = {
    "grad": lambda f: func.grad(lambda x: f(x).sum())(X),
    "vjp": lambda f: func.vjp(f, X),
    "jacrev": lambda f: func.jacrev(f)(X),
    "jvp": lambda f: func.jvp(f, (X,), (X,)),
    "jacfwd": lambda f: func.jacfwd(f)(X),
    "hessian": lambda f: func.hessian(lambda x: f(x).sum())(X),
    "vmap": lambda f: func.vmap(f)(X),
    "vmap of grad": lambda f: func.vmap(func.grad(lambda x: f(x).sum()))(fl.ones(2, 3)),
}


def requires(x):
    return x.requires_grad_().sin()


def requires_not(x):
    return x.requires_grad_(False).sin()


def makes_a_leaf(x):
    return fl.ones(3).requires_grad_() * x


def backward(x):
    fl.ones(3, requires_grad=True).sum().backward()
    return x * 1


def backward_of_several(x):
    fl.autograd.backward([fl.ones(3, requires_grad=True).sum()])
    return x * 1


def jacobian(x):
    return functional.jacobian(fl.sin, x)


def forward_jacobian(x):
    return functional.jacobian(fl.sin, x, strategy="forward-mode", vectorize=True)


@pytest.mark.parametrize("transform", CALLS)
@pytest.mark.parametrize(("f", "match"), [
    (requires, "requires_grad_"), (requires_not, "requires_grad_"),
    (makes_a_leaf, "requires_grad_"), (backward, "backward"), (backward_of_several, "backward"),
    (jacobian, "functional.jacobian"), (forward_jacobian, "functional.jacobian"),
    (lambda x: functional.vjp(fl.sin, x, x)[1], "functional.vjp"),
    (lambda x: functional.jvp(fl.sin, x, x)[1], "functional.jvp"),
    (lambda x: functional.hvp(lambda x: x.sin().sum(), x, x)[1], "functional.hvp")])
def test_the_graph_outside_is_not_for_functions_of_transforms(transform, f, match):
    with pytest.raises(RuntimeError, match=match):
        CALLS[transform](f)


@pytest.mark.parametrize("transform", ["grad", "vjp", "jacrev", "hessian"])
def test_gradients_are_not_retained(transform):
    def f(x):
        y = x.sin()
        y.retain_grad()
        return y
    with pytest.raises(RuntimeError, match="retain_grad"):
        CALLS[transform](f)


def test_after_the_function_all_is_as_before():
    with pytest.raises(RuntimeError, match="requires_grad_"):
        CALLS["vmap"](requires)
    x = fl.ones(2).requires_grad_()
    x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert functional.hessian(lambda x: (x ** 3).sum(), fl.ones(1), vectorize=True,
                              outer_jacobian_strategy="forward-mode").tolist() == [[6.0]]


def test_tensors_that_require_grad_are_made_inside():
    def f(x):
        made = [fl.ones(3, requires_grad=True), fl.tensor([1.0] * 3, requires_grad=True),
                fl.asarray([1.0] * 3, requires_grad=True)]
        return (sum(made) * x).sum()
    assert func.grad(f)(X).tolist() == [3.0, 3.0, 3.0]


# ---- what is returned --------------------------------------------------------------------------
DIFFERENTIATE = {name: CALLS[name] for name in ("vjp", "jacrev", "jvp", "jacfwd", "hessian")}
WITH_AUX = {
    "grad": lambda f: func.grad(f, has_aux=True)(X),
    "grad_and_value": lambda f: func.grad_and_value(f, has_aux=True)(X),
    "vjp": lambda f: func.vjp(f, X, has_aux=True),
    "jacrev": lambda f: func.jacrev(f, has_aux=True)(X),
    "jvp": lambda f: func.jvp(f, (X,), (X,), has_aux=True),
    "jacfwd": lambda f: func.jacfwd(f, has_aux=True)(X),
}


@pytest.mark.parametrize("transform", WITH_AUX)
@pytest.mark.parametrize("aux", [1.0, 3, None, "text", [fl.ones(1), 1], {"a": None}])
def test_aux_are_tensors(transform, aux):
    with pytest.raises(RuntimeError, match="Expected tensors"):
        WITH_AUX[transform](lambda x: (x.sum(), aux))


@pytest.mark.parametrize("transform", ["vjp", "jacrev", "jvp", "jacfwd"])
@pytest.mark.parametrize("empty", [(), [], {}])
def test_there_are_outputs(transform, empty):
    with pytest.raises(RuntimeError, match="non-empty output"):
        CALLS[transform](lambda x: empty)


def test_structures_of_outputs():
    tree = collections.deque([{"b": (X,)}], maxlen=3)
    found = func.jacrev(lambda x: collections.deque([{"b": (x * 2,)}], maxlen=3))(X)
    assert type(found) is collections.deque
    assert found.maxlen == tree.maxlen
    assert found[0]["b"][0].tolist() == (2 * fl.eye(3)).tolist()


@pytest.mark.parametrize("transform", [func.jacrev, func.jacfwd, func.hessian])
def test_jacobians_are_of_real_numbers(transform):
    for f, x in ((lambda z: z.abs().sum(), X + 1j), (lambda x: (x * 1j).sum(), X)):
        with pytest.raises(RuntimeError, match="to be real"):
            transform(f)(x)


def test_integers_have_no_cotangents():
    for transform in ("vjp", "jacrev", "hessian"):
        with pytest.raises(RuntimeError, match="floating-point"):
            CALLS[transform](lambda x: (x > 1).sum())
    with pytest.raises(RuntimeError, match="real number"):
        func.grad(lambda x: (x * 1j).sum())(X)
    assert func.grad(lambda x: (x > 1).sum())(X).tolist() == [0.0, 0.0, 0.0]


def test_vmap_passes_what_is_no_batch():
    assert func.vmap(lambda x: (x, "text"), out_dims=(0, None))(X)[1] == "text"


# ---- hooks on saved tensors --------------------------------------------------------------------
def _hooked(x):
    with fl.autograd.graph.save_on_cpu():
        return x.sin()


@pytest.mark.parametrize("transform", ["grad", "vjp", "jacrev", "hessian", "vmap of grad"])
def test_hooks_on_saved_tensors(transform):
    with pytest.raises(RuntimeError, match="saved tensor hooks"):
        CALLS[transform](_hooked)
    with pytest.raises(RuntimeError, match="saved tensor hooks"), fl.autograd.graph.save_on_cpu():
        CALLS[transform](fl.sin)
    assert _hooked(X).tolist() == X.sin().tolist()     # all is as before


def test_checkpoints_are_taken():
    from flambeau.utils.checkpoint import checkpoint

    wanted = X.cos().tolist()
    assert func.grad(lambda x: checkpoint(fl.sin, x).sum())(X).tolist() == wanted
    assert checkpoint(lambda x: func.grad(lambda x: x.sin().sum())(x), X).tolist() == wanted


_CHECKPOINTED = {
    "gradient of batches": lambda f: func.grad(lambda x: func.vmap(f)(x).sum())(fl.eye(3) + 1),
    "gradient of tangents": lambda f: func.grad(
        lambda x: func.jvp(f, (x,), (x,))[1].sum())(X),
    "gradients of a batch": lambda f: func.vmap(func.grad(lambda x: f(x).sum()))(fl.eye(3) + 1),
    "hessian": lambda f: func.hessian(lambda x: f(x).sum())(X),
    "jacobian of tangents": lambda f: func.jacrev(func.jacfwd(f))(X),
    "linearize": lambda f: func.linearize(f, X)[1](X)}


@pytest.mark.parametrize("call", _CHECKPOINTED)
def test_checkpoints_of_levels(call):
    """A level that has ended cannot be entered again for the second run."""
    from flambeau.utils.checkpoint import checkpoint

    def inner(x):
        return (x * 2).atan2(x + 3)

    def outer(x):
        return x.sin() * inner(x)
    wanted = _CHECKPOINTED[call](outer).tolist()
    assert _CHECKPOINTED[call](lambda x: checkpoint(outer, x)).tolist() == wanted
    nested = _CHECKPOINTED[call](
        lambda x: checkpoint(lambda x: x.sin() * checkpoint(inner, x), x))
    assert nested.tolist() == wanted


def test_modules_whose_gradients_are_watched():
    nn = pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    layer, seen = nn.Linear(3, 1), []
    layer.register_full_backward_hook(lambda module, given, got: seen.append(got[0].item()))
    func.grad(lambda x: layer(x).sum())(X)
    assert seen == [1.0]


# ---- linearize ---------------------------------------------------------------------------------
@pytest.mark.parametrize("f", [
    lambda x: fl.no_grad()(lambda: x * x)(), lambda x: fl.no_grad()(lambda: x.clone().mul_(x))(),
    lambda x: fl.no_grad()(fl.exp)(x) * x, lambda x: x.detach() * x])
def test_linearize_is_forward_mode(f):
    """What the function records itself does not matter."""
    value, push = func.linearize(f, X)
    wanted, moved = func.jvp(f, (X,), (X,))
    assert value.tolist() == wanted.tolist()
    assert push(X).tolist() == pytest.approx(moved.tolist())
    assert func.vmap(push)(fl.eye(3)).tolist() == [
        pytest.approx(row) for row in func.jacfwd(f)(X).tolist()]


def test_tangents_for_linearize_have_the_dtype():
    push = func.linearize(lambda x: x * 2, X)[1]
    with pytest.raises(RuntimeError, match="dtype of its primal"):
        push(X.double())
