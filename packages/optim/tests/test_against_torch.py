"""Optimizers and schedules against PyTorch: trajectories over 100 steps, and printing."""

import contextlib
import copy
import itertools

import numpy as np
import pytest

import flambeau
from flambeau import optim

pytestmark = pytest.mark.oracle

STEPS = 100


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def walk(t, make, dtype):
    """100 steps with given gradients; the second parameter gets one only in every third step."""
    rng = np.random.default_rng(0)
    shapes = ((3, 2), (4,))
    params = [t.tensor(rng.standard_normal(s), dtype=dtype) for s in shapes]
    optimizer = make(params)
    trace = []
    for step in range(STEPS):
        for i, (p, shape) in enumerate(zip(params, shapes, strict=True)):
            grad = t.tensor(rng.standard_normal(shape), dtype=dtype)
            p.grad = grad if i == 0 or step % 3 == 0 else None
        optimizer.step()
        trace.append(np.concatenate([p.detach().numpy().ravel() for p in params]))
    return np.array(trace)


def product(**options):
    names = list(options)
    return [
        dict(zip(names, values, strict=True)) for values in itertools.product(*options.values())
    ]


CASES = [
    ("SGD", options)
    for options in product(
        lr=[0.1],
        momentum=[0, 0.9],
        dampening=[0, 0.5],
        weight_decay=[0, 0.05],
        nesterov=[False, True],
        maximize=[False, True],
    )
    if not (options["nesterov"] and (options["momentum"] == 0 or options["dampening"]))
]


def add(name, **options):
    CASES.extend((name, case) for case in product(**options))


FLAGS = {"weight_decay": [0, 0.05], "maximize": [False, True]}
BETAS = [(0.9, 0.999), (0.5, 0.9)]
for kind in ("Adam", "AdamW"):
    add(kind, lr=[0.05], betas=BETAS, amsgrad=[False, True], **FLAGS)
add("Adam", lr=[0.05], decoupled_weight_decay=[True], **FLAGS)
for kind in ("NAdam", "RAdam"):
    add(kind, lr=[0.05], betas=BETAS, decoupled_weight_decay=[False, True], **FLAGS)
add("NAdam", lr=[0.05], momentum_decay=[0, 0.1])
add("Adamax", lr=[0.05], betas=BETAS, eps=[1e-8, 0.1], **FLAGS)
add("Adagrad", lr=[0.1], lr_decay=[0, 0.1], initial_accumulator_value=[0, 0.5], **FLAGS)
add("Adadelta", lr=[1.0], rho=[0.9, 0.5], eps=[1e-6, 1e-2], **FLAGS)
add("RMSprop", lr=[0.05], alpha=[0.99, 0.5], momentum=[0, 0.9], centered=[False, True], **FLAGS)
add("Rprop", lr=[0.1], etas=[(0.5, 1.2), (0.3, 2.0)], step_sizes=[(1e-6, 50), (0.05, 0.2)])
add("Rprop", lr=[0.1], maximize=[True])
add("ASGD", lr=[0.1], lambd=[1e-4, 0.1], alpha=[0.75, 0.5], t0=[1e6, 10], **FLAGS)


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 1e-9), ("float32", 1e-4)])
def test_trajectory(torch, name, options, dtype, rtol):
    mine = walk(flambeau, lambda p: getattr(optim, name)(p, **options), getattr(flambeau, dtype))
    with numbers_of(torch, dtype):
        theirs = walk(
            torch, lambda p: getattr(torch.optim, name)(p, **options), getattr(torch, dtype)
        )
    np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol)


@contextlib.contextmanager
def numbers_of(torch, dtype):
    """PyTorch keeps eta, mu and the product of momenta in the default dtype."""
    torch.set_default_dtype(getattr(torch, dtype))
    yield
    torch.set_default_dtype(torch.float32)


SCHEDULES = {
    "step": lambda s, o: s.StepLR(o, 7, 0.3),
    "multistep": lambda s, o: s.MultiStepLR(o, [0, 5, 5, 30], 0.3),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.95),
    "lambda": lambda s, o: s.LambdaLR(o, lambda t: 1 / (1 + t)),
    "linear": lambda s, o: s.LinearLR(o, 0.2, 0.9, 20),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 13, 0.001),
    "cosine_to_zero": lambda s, o: s.CosineAnnealingLR(o, 10),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda t: 0.9 + 0.1 / t),
    "constant": lambda s, o: s.ConstantLR(o, 0.3, 7),
    "polynomial": lambda s, o: s.PolynomialLR(o, 30, 1.5),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 1e-3),
    "restarts_alike": lambda s, o: s.CosineAnnealingWarmRestarts(o, 7),
    "cyclic": lambda s, o: s.CyclicLR(o, 0.1, [1.0, 2.0], 3, 5),
    "cyclic2": lambda s, o: s.CyclicLR(o, 0.1, 1.0, 4, mode="triangular2"),
    "cyclic_exp": lambda s, o: s.CyclicLR(o, 0.1, 1.0, 4, mode="exp_range", gamma=0.99),
    "cyclic_own": lambda s, o: s.CyclicLR(o, 0.1, 1.0, 4, scale_fn=lambda x: 1 / (1 + x)),
    "one_cycle": lambda s, o: s.OneCycleLR(o, [1.0, 0.1], STEPS),
    "one_cycle_linear": lambda s, o: s.OneCycleLR(o, 1.0, STEPS, anneal_strategy="linear"),
    "one_cycle_three": lambda s, o: s.OneCycleLR(
        o, 1.0, epochs=4, steps_per_epoch=25, three_phase=True, pct_start=0.2
    ),
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 9), s.StepLR(o, 20, 0.5)]),
    "nested": lambda s, o: s.SequentialLR(
        o,
        [
            s.ChainedScheduler([s.ConstantLR(o, 0.1, 9), s.ExponentialLR(o, 0.95)]),
            s.CosineAnnealingWarmRestarts(o, 5),
            s.PolynomialLR(o, 9),
        ],
        [30, 60],
    ),
    "sequential": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 4), s.CosineAnnealingLR(o, 20), s.StepLR(o, 3)], [5, 40]
    ),
}


def two_groups(t):
    groups = [{"params": [t.zeros(1)], "lr": 0.5}, {"params": [t.zeros(1)], "lr": 0.02}]
    return t.optim.SGD(groups, lr=1.0, momentum=0.9)


def rates(t, make):
    optimizer = two_groups(t)
    schedule = make(t.optim.lr_scheduler, optimizer)
    trace = []
    for _ in range(STEPS):
        momenta = [group["momentum"] for group in optimizer.param_groups]
        assert schedule.get_last_lr() == [group["lr"] for group in optimizer.param_groups]
        trace.append([*schedule.get_last_lr(), *momenta])
        optimizer.step()
        schedule.step()
    return np.array(trace)


@pytest.mark.filterwarnings("ignore:.*optimizer.step")  # of schedules in schedules
@pytest.mark.parametrize("make", SCHEDULES.values(), ids=SCHEDULES)
def test_schedule(torch, make):
    np.testing.assert_allclose(rates(flambeau, make), rates(torch, make), rtol=1e-9, atol=1e-14)


SIMPLE = [name for name in SCHEDULES if name not in ("chained", "nested", "sequential")]


@pytest.mark.filterwarnings("ignore:.*optimizer.step")  # of schedules in schedules
@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(SIMPLE, 2)))
def test_chains(torch, first, second):
    def make(s, o):
        return s.ChainedScheduler([SCHEDULES[first](s, o), SCHEDULES[second](s, o)])

    np.testing.assert_allclose(rates(flambeau, make), rates(torch, make), rtol=1e-6, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*optimizer.step")  # of schedules in schedules
@pytest.mark.parametrize("make", SCHEDULES.values(), ids=SCHEDULES)
def test_states_of_schedules_have_the_names_of_pytorch(torch, make):
    def names(state):
        if isinstance(state, list):
            return [names(each) for each in state]
        return {k: names(v) for k, v in state.items()} if isinstance(state, dict) else None

    mine, theirs = (
        names(make(t.optim.lr_scheduler, two_groups(t)).state_dict()) for t in (flambeau, torch)
    )
    assert mine == theirs


@pytest.mark.filterwarnings("ignore:.*optimizer.step")  # of schedules in schedules
@pytest.mark.parametrize("make", SCHEDULES.values(), ids=SCHEDULES)
def test_a_schedule_s_state_of_pytorch_s_is_understood(torch, make):
    def halfway(t):
        optimizer = t.optim.SGD(
            [{"params": [t.zeros(1)], "lr": lr} for lr in (0.5, 0.02)], momentum=0.9
        )
        return optimizer, make(t.optim.lr_scheduler, optimizer)

    theirs, schedule = halfway(torch)
    mine, own = halfway(flambeau)
    for _ in range(40):
        theirs.step()
        schedule.step()
    mine.load_state_dict(theirs.state_dict())
    own.load_state_dict(copy.deepcopy(schedule.state_dict()))
    for _ in range(40):
        np.testing.assert_allclose(own.get_last_lr(), schedule.get_last_lr(), rtol=1e-9, atol=1e-14)
        for optimizer, each in ((theirs, schedule), (mine, own)):
            optimizer.step()
            each.step()


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_plateau(torch, mode, threshold_mode):
    metrics = np.random.default_rng(0).standard_normal(STEPS).cumsum()

    def run(t):
        optimizer = t.optim.SGD([t.zeros(1)], lr=1.0)
        schedule = t.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, mode, 0.5, 2, 0.05, threshold_mode, cooldown=2, min_lr=1e-3
        )
        trace = []
        for metric in metrics:
            schedule.step(float(metric))
            trace.append((schedule.get_last_lr()[0], schedule.best, schedule.num_bad_epochs))
        return trace

    assert run(flambeau) == run(torch)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_state_has_the_names_of_pytorch(torch, name):
    def state(t):
        p = t.tensor([1.0])
        optimizer = getattr(t.optim, name)(
            [p], lr=0.1, **({"momentum": 0.9} if name == "SGD" else {"amsgrad": True})
        )
        p.grad = t.tensor([1.0])
        optimizer.step()
        return optimizer.state_dict()

    mine, theirs = state(flambeau), state(torch)
    assert list(mine) == list(theirs)
    assert list(mine["state"][0]) == list(theirs["state"][0])
    assert set(mine["param_groups"][0]) <= set(theirs["param_groups"][0])


def test_a_state_of_pytorch_s_is_understood(torch):
    p = torch.tensor([1.0, 2.0])
    theirs = torch.optim.AdamW([p], lr=0.1)
    for _ in range(3):
        p.grad = torch.tensor([0.5, -1.0])
        theirs.step()
    state = theirs.state_dict()
    state["state"][0] = {k: flambeau.tensor(v.numpy()) for k, v in state["state"][0].items()}
    q = flambeau.tensor(p.tolist())
    mine = optim.AdamW([q], lr=9.0)
    mine.load_state_dict(state)
    p.grad, q.grad = torch.tensor([1.0, 1.0]), flambeau.tensor([1.0, 1.0])
    theirs.step()
    mine.step()
    np.testing.assert_allclose(q.tolist(), p.tolist(), rtol=1e-6)


def test_a_closure_is_recorded_and_the_step_is_not():
    p = flambeau.tensor([1.0], requires_grad=True)
    optimizer = optim.SGD([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    for _ in range(2):
        with flambeau.no_grad():
            assert optimizer.step(closure).requires_grad
    assert p.is_leaf
    assert p.requires_grad
    assert p.tolist() == pytest.approx([0.64])


def test_copies_keep_parameters_and_state_together():
    p = flambeau.tensor([1.0], requires_grad=True)
    optimizer = optim.Adam([p], lr=0.1)
    (p * p).sum().backward()
    optimizer.step()
    twin = copy.deepcopy(optimizer)
    q = twin.param_groups[0]["params"][0]
    assert twin.state[q]["step"] == 1
    for each, param in ((optimizer, p), (twin, q)):
        param.grad = flambeau.tensor([1.0])
        each.step()
    assert p.tolist() == q.tolist()
