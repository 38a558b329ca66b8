"""Every optimizer on every kind of parameter: shapes, strides, dtypes, missing gradients."""

import copy

import numpy as np
import pytest
from leaves import leaf

import flambeau
from flambeau import optim

STEPS = 12
KINDS = {
    "SGD": {"momentum": 0.9, "weight_decay": 0.1},
    "Adam": {"amsgrad": True},
    "AdamW": {},
    "Adamax": {},
    "NAdam": {},
    "RAdam": {"betas": (0.9, 0.9)},
    "Adagrad": {"initial_accumulator_value": 0.1},
    "Adadelta": {},
    "RMSprop": {"centered": True, "momentum": 0.9},
    "Rprop": {},
    "ASGD": {"t0": 4},
    "Adafactor": {},
}
ELEMENTWISE = [kind for kind in KINDS if kind != "Adafactor"]


def make(kind, params, **options):
    return getattr(optim, kind)(params, **{"lr": 0.05, **KINDS[kind], **options})


def gradients(shape):
    return np.random.default_rng(5).standard_normal((STEPS, *shape))


def walk(kind, p, grads=None, **options):
    optimizer = make(kind, [p], **options)
    for grad in gradients(tuple(p.shape)) if grads is None else grads:
        p.grad = flambeau.tensor(np.asarray(grad)).to(p.dtype)
        optimizer.step()
    return optimizer


def start(shape):
    return np.random.default_rng(6).standard_normal(shape)


@pytest.mark.parametrize("kind", KINDS)
def test_without_dimensions(kind):
    p, q = (leaf(values, dtype=flambeau.float64) for values in (0.75, [0.75]))
    walk(kind, p)
    walk(kind, q, gradients(())[:, None])
    assert [float(p)] == q.tolist()
    assert p.shape == ()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2)])
def test_empty(kind, shape):
    p = leaf(start(shape))
    optimizer = walk(kind, p)
    assert tuple(p.shape) == shape
    if kind != "SGD":
        assert optimizer.state[p]["step"] == STEPS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", ["parameter", "gradient", "both", "gap"])
def test_strided(kind, which):
    values = start((4, 6))
    expected = leaf(values, dtype=flambeau.float64)
    walk(kind, expected)
    base = flambeau.zeros(8, 12, dtype=flambeau.float64)
    if which == "gap":
        view = base[::2, 1::2]
    elif which == "gradient":
        view = flambeau.zeros(4, 6, dtype=flambeau.float64)
    else:
        view = base.reshape(-1)[:24].reshape(6, 4).t()
    view.copy_(flambeau.tensor(values))
    p = leaf(view)
    optimizer = make(kind, [p])
    for grad in gradients((4, 6)):
        value = flambeau.tensor(grad)
        p.grad = value.t().contiguous().t() if which in ("gradient", "both") else value
        optimizer.step()
    np.testing.assert_allclose(p.numpy(), expected.numpy(), rtol=1e-12, atol=1e-14)
    if which == "gap":
        assert base[1::2].abs().sum() == 0
        assert base[:, ::2].abs().sum() == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "digits"), [("bfloat16", 8), ("float16", 11)])
def test_half_precision(kind, dtype, digits):
    """State and parameters are rounded once a step, so the path is that of float32, roughly."""
    half = leaf(start((50,)), dtype=getattr(flambeau, dtype))
    whole = leaf(half.to(flambeau.float32))
    for p in (half, whole):
        options = {"eps": (None, 1e-3)} if kind == "Adafactor" else {}
        walk(kind, p, **options)
    assert half.dtype == getattr(flambeau, dtype)
    error = np.abs(half.to(flambeau.float32).numpy() - whole.numpy())
    # A few roundings of parameters of size 4 and of steps of size 0.05 in every step.
    coarse = 8 if kind in ("Adafactor", "RMSprop", "Rprop", "Adadelta") else 1
    assert error.max() < coarse * STEPS * 4 * 2.0**-digits


@pytest.mark.parametrize("kind", ELEMENTWISE)
def test_complex_parameters_are_pairs_of_real_ones(kind):
    if kind == "Adagrad":
        options = {"initial_accumulator_value": 0.1}
    else:
        options = {}
    parts = start((3, 2))
    p = leaf(parts[:, 0] + 1j * parts[:, 1], dtype=flambeau.complex128)
    q = leaf(parts, dtype=flambeau.float64)
    grads = gradients((3, 2))
    optimizer = walk(kind, p, grads[..., 0] + 1j * grads[..., 1], **options)
    walk(kind, q, grads, **options)
    np.testing.assert_array_equal(flambeau.view_as_real(p.detach()).numpy(), q.numpy())
    tensors = [v for v in optimizer.state[p].values() if isinstance(v, flambeau.Tensor)]
    assert {tensor.dtype for tensor in tensors} <= {flambeau.complex128}


@pytest.mark.parametrize("kind", KINDS)
def test_a_parameter_without_gradient_waits(kind):
    """What it does later is what one alone does."""
    late, early = leaf(start((3,))), leaf(start((3,)))
    alone = leaf(start((3,)))
    optimizer = make(kind, [early, late])
    for step, grad in enumerate(gradients((3,))):
        early.grad = flambeau.tensor(grad, dtype=flambeau.float32)
        late.grad = early.grad if step >= 5 else None
        optimizer.step()
    walk(kind, alone, gradients((3,))[5:])
    assert late.tolist() == alone.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_rate_as_a_tensor(kind):
    mine, theirs = leaf(start((3,))), leaf(start((3,)))
    walk(kind, mine, lr=flambeau.tensor(0.25))
    walk(kind, theirs, lr=0.25)
    assert mine.tolist() == theirs.tolist()
    options = dict(KINDS[kind], lr=flambeau.tensor([0.25]))
    getattr(optim, kind)([mine], **options).step()


@pytest.mark.parametrize("kind", ELEMENTWISE)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_step_allocates_nothing(kind, dtype):
    params = [leaf(start(shape), dtype=getattr(flambeau, dtype)) for shape in ((300, 200), (7,))]
    optimizer = make(kind, params)
    for p in params:
        p.grad = flambeau.ones_like(p)
    optimizer.step()
    addresses = [p.data_ptr() for p in params]
    before = flambeau.core.memory_stats()["alloc_count"]
    optimizer.step()
    assert flambeau.core.memory_stats()["alloc_count"] == before
    assert [p.data_ptr() for p in params] == addresses


@pytest.mark.parametrize("kind", KINDS)
def test_saved_by_position_and_by_name(kind):
    def named():
        return {"first": leaf(start((4, 3))), "second": leaf(start((2,)))}

    def go(params, optimizer, begin, end):
        for step in range(begin, end):
            for name, p in params.items():
                grad = gradients(tuple(p.shape))[step]
                p.grad = flambeau.tensor(grad, dtype=flambeau.float32) if name else None
            optimizer.step()

    whole, stopped = named(), named()
    go(whole, make(kind, whole.items()), 0, 10)
    first = make(kind, stopped.items())
    go(stopped, first, 0, 4)
    by_name = copy.deepcopy(first.named_state_dict())
    second = make(kind, list(stopped.items())[::-1], lr=9.0)
    second.load_state_dict(by_name)
    go(stopped, second, 4, 7)
    third = make(kind, [stopped["second"], stopped["first"]], lr=9.0)
    third.load_state_dict(second.state_dict())
    go(stopped, third, 7, 10)
    for name, p in whole.items():
        assert stopped[name].tolist() == p.tolist()


TORCH = {**KINDS, "Muon": {}, "LBFGS": {"line_search_fn": "strong_wolfe", "max_iter": 3}}


def quadratic(t, kind, p, optimizer, steps):
    """Steps down a parabola; the gradient is set by hand."""
    scales = t.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=p.dtype)

    def closure():
        x = p.detach()
        p.grad = scales * x - 1
        return (0.5 * scales * x * x - x).sum()

    for _ in range(steps):
        if kind == "LBFGS":
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()


@pytest.mark.oracle
@pytest.mark.parametrize("kind", TORCH)
@pytest.mark.parametrize("numbers", ["tensors", "plain"])
def test_a_state_of_pytorch_s_is_continued(kind, numbers):
    torch = pytest.importorskip("torch")
    options = {"lr": 0.05, **TORCH[kind]}
    p = torch.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=torch.float32)
    theirs = getattr(torch.optim, kind)([p], **options)
    quadratic(torch, kind, p, theirs, 5)
    state = copy.deepcopy(theirs.state_dict())
    if numbers == "plain" and kind != "LBFGS":
        for value in state["state"].values():
            scalars = {k: v.item() for k, v in value.items() if v.ndim == 0}
            value.update(scalars)
    q = leaf(p.tolist())
    mine = getattr(optim, kind)([q], lr=9.0)
    mine.load_state_dict(state)
    assert set(mine.param_groups[0]) == set(theirs.param_groups[0])
    assert list(mine.state[q]) == list(theirs.state[p])
    for steps in (1, 3):
        quadratic(torch, kind, p, theirs, steps)
        quadratic(flambeau, kind, q, mine, steps)
        tolerance = 2e-3 if kind == "Muon" else 1e-5
        np.testing.assert_allclose(q.tolist(), p.tolist(), rtol=tolerance, atol=tolerance)


@pytest.mark.oracle
# PyTorch's LBFGS keeps its numbers as tensors and cannot start from others.
@pytest.mark.parametrize("kind", [kind for kind in TORCH if kind != "LBFGS"])
def test_pytorch_continues_a_state_of_ours(kind):
    torch = pytest.importorskip("torch")
    options = {"lr": 0.05, **TORCH[kind]}
    q = leaf([[1.0, -2.0], [0.5, 3.0]])
    mine = getattr(optim, kind)([q], **options)
    quadratic(flambeau, kind, q, mine, 5)

    def converted(value):
        if isinstance(value, flambeau.Tensor):
            return torch.tensor(value.tolist())
        if isinstance(value, dict):
            return {name: converted(item) for name, item in value.items()}
        return [converted(item) for item in value] if isinstance(value, list) else value

    p = torch.tensor(q.tolist())
    theirs = getattr(torch.optim, kind)([p], lr=9.0)
    theirs.load_state_dict(converted(mine.state_dict()))
    quadratic(torch, kind, p, theirs, 3)
    quadratic(flambeau, kind, q, mine, 3)
    tolerance = 2e-3 if kind == "Muon" else 1e-5
    np.testing.assert_allclose(q.tolist(), p.tolist(), rtol=tolerance, atol=tolerance)


@pytest.mark.oracle
@pytest.mark.parametrize("kind", ELEMENTWISE)
@pytest.mark.parametrize("dtype", ["complex64", "bfloat16"])
def test_kinds_of_numbers_as_in_pytorch(kind, dtype):
    torch = pytest.importorskip("torch")

    def run(t):
        number = getattr(t, dtype)
        values, grads = start((20, 2)), np.random.default_rng(1).standard_normal((100, 20, 2))
        pair = (lambda x: x[..., 0] + 1j * x[..., 1]) if dtype == "complex64" else (lambda x: x)
        p = t.tensor(pair(values)).to(number)
        p = leaf(p) if t is flambeau else p
        optimizer = getattr(t.optim, kind)([p], **{"lr": 0.05, **KINDS[kind]})
        for grad in grads:
            p.grad = t.tensor(pair(grad)).to(number)
            optimizer.step()
        p = p.detach()
        return (p if dtype == "complex64" else p.to(t.float32)).numpy()

    mine, theirs = run(flambeau), run(torch)
    if dtype == "complex64":
        np.testing.assert_allclose(mine, theirs, rtol=2e-4, atol=2e-4)
        return
    # PyTorch rounds after every operation and we once a step: both wander within roundings.
    assert np.mean(np.abs(mine - theirs) / (1 + np.abs(theirs))) < 0.05
