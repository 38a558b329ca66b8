"""Learning-rate schedules against their closed forms."""

import bisect
import itertools
import math
import re

import pytest
from rates import optimizer

import flambeau
from flambeau import optim
from flambeau.optim import lr_scheduler

EPOCHS = 25


def follow(schedule, epochs=EPOCHS):
    rates = []
    for _ in range(epochs):
        rates.append(schedule.get_last_lr())
        assert schedule.get_last_lr() == [g["lr"] for g in schedule.optimizer.param_groups]
        schedule.optimizer.step()
        schedule.step()
    return rates


def cosine(epoch, lr):
    return 0.01 + (lr - 0.01) * (1 + math.cos(math.pi * epoch / 10)) / 2


def restarted(epoch):
    """Which part of its period an epoch is at; the periods are 3, 6, 12 ... epochs long."""
    length = 3
    while epoch >= length:
        epoch, length = epoch - length, 2 * length
    return epoch / length


def piecewise(epoch, *points):
    pairs = itertools.pairwise(points)
    (start, low), (end, high) = next(pair for pair in pairs if epoch <= pair[1][0])
    return low + (high - low) * (epoch - start) / (end - start)


FORMS = {
    "step": (
        lambda o: lr_scheduler.StepLR(o, 4, 0.3),
        lambda t, lr: lr * 0.3 ** (t // 4),
    ),
    "multistep": (
        lambda o: lr_scheduler.MultiStepLR(o, [3, 3, 9], 0.5),
        lambda t, lr: lr * 0.5 ** bisect.bisect_right([3, 3, 9], t),
    ),
    "exponential": (
        lambda o: lr_scheduler.ExponentialLR(o, 0.9),
        lambda t, lr: lr * 0.9**t,
    ),
    "lambda": (
        lambda o: lr_scheduler.LambdaLR(o, lambda t: 1 / (1 + t)),
        lambda t, lr: lr / (1 + t),
    ),
    "linear": (
        lambda o: lr_scheduler.LinearLR(o, 0.25, 0.75, 8),
        lambda t, lr: lr * (0.25 + 0.5 * min(t, 8) / 8),
    ),
    "cosine": (lambda o: lr_scheduler.CosineAnnealingLR(o, 10, 0.01), cosine),
    "multiplicative": (
        lambda o: lr_scheduler.MultiplicativeLR(o, [lambda t: 0.9, lambda t: t / (1 + t)]),
        lambda t, lr: lr * 0.9**t if lr == 0.5 else lr / (1 + t),
    ),
    "constant": (
        lambda o: lr_scheduler.ConstantLR(o, 0.25, 6),
        lambda t, lr: lr * (0.25 if t < 6 else 1),
    ),
    "constant_zero": (
        lambda o: lr_scheduler.ConstantLR(o, 0.0, 3),
        lambda t, lr: lr * (t >= 3),
    ),
    "polynomial": (
        lambda o: lr_scheduler.PolynomialLR(o, 9, 2.0),
        lambda t, lr: lr * (1 - min(t, 9) / 9) ** 2,
    ),
    "restarts": (
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
        lambda t, lr: 0.01 + (lr - 0.01) * (1 + math.cos(math.pi * restarted(t))) / 2,
    ),
    "cyclic": (
        lambda o: lr_scheduler.CyclicLR(o, [0.5, 0.02], 1.0, 4, 6, cycle_momentum=False),
        lambda t, lr: lr + (1.0 - lr) * (t % 10 / 4 if t % 10 <= 4 else (10 - t % 10) / 6),
    ),
    "one_cycle": (
        lambda o: lr_scheduler.OneCycleLR(
            o, [0.5, 0.02], EPOCHS, pct_start=0.4, anneal_strategy="linear", cycle_momentum=False
        ),
        lambda t, lr: piecewise(t, (0, lr / 25), (9, lr), (EPOCHS - 1, lr / 25e4)),
    ),
}


@pytest.mark.parametrize(("make", "form"), FORMS.values(), ids=FORMS)
def test_closed_forms(make, form):
    rates = follow(make(optimizer()))
    for epoch, pair in enumerate(rates):
        expected = [form(epoch, 0.5), form(epoch, 0.02)]
        assert pair == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("make", "form"), FORMS.values(), ids=FORMS)
def test_saved_and_resumed(make, form):
    whole = follow(make(optimizer()))
    first_optimizer = optimizer()
    first = make(first_optimizer)
    follow(first, 7)
    second_optimizer = optimizer()
    second = make(second_optimizer)
    second_optimizer.load_state_dict(first_optimizer.state_dict())
    second.load_state_dict(first.state_dict())
    rest = follow(second, EPOCHS - 7)
    assert rest == whole[7:]


def test_schedules_on_one_optimizer_multiply():
    o = optimizer(1.0)
    first = lr_scheduler.ExponentialLR(o, 0.5)
    second = lr_scheduler.StepLR(o, 2, 0.1)
    for _ in range(2):
        o.step()
        first.step()
        second.step()
    assert o.param_groups[0]["lr"] == pytest.approx(0.25 * 0.1)


def test_one_function_per_group():
    schedule = lr_scheduler.LambdaLR(optimizer(1.0, 1.0), [lambda t: t, lambda t: 2 * t])
    assert follow(schedule, 3) == [[0, 0], [1, 2], [2, 4]]
    with pytest.raises(ValueError, match="lr_lambda has 1 values for 2"):
        lr_scheduler.LambdaLR(optimizer(), [lambda t: t])


def test_a_callable_object_is_saved():
    class Power:
        base = 0.5

        def __call__(self, t):
            return self.base**t

    source, target = Power(), Power()
    source.base = 0.25
    state = lr_scheduler.LambdaLR(optimizer(1.0), source).state_dict()
    lr_scheduler.LambdaLR(optimizer(1.0), target).load_state_dict(state)
    assert target.base == 0.25
    assert "lr_lambdas" in state


def test_sequential():
    o = optimizer(1.0)
    schedule = lr_scheduler.SequentialLR(
        o,
        [
            lr_scheduler.LinearLR(o, 0.25, 1.0, 3),
            lr_scheduler.ExponentialLR(o, 0.5),
            lr_scheduler.StepLR(o, 1, 0.1),
        ],
        [4, 7],
    )
    rates = [rate for (rate,) in follow(schedule, 9)]
    assert rates == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0, 0.5, 0.25, 1.0, 0.1])


def test_sequential_saved_and_resumed():
    def make(o):
        parts = [lr_scheduler.LinearLR(o, 0.5, 1.0, 3), lr_scheduler.ExponentialLR(o, 0.5)]
        return lr_scheduler.SequentialLR(o, parts, [4])

    whole = follow(make(optimizer()), 9)
    first = make(optimizer())
    follow(first, 6)
    second = make(optimizer())
    second.optimizer.load_state_dict(first.optimizer.state_dict())
    second.load_state_dict(first.state_dict())
    assert follow(second, 3) == whole[6:]


def test_a_step_before_the_optimizer_s_warns():
    schedule = lr_scheduler.StepLR(optimizer(), 2)
    with pytest.warns(UserWarning, match="before optimizer"):
        schedule.step()


def test_linear_options():
    with pytest.raises(ValueError, match="start_factor"):
        lr_scheduler.LinearLR(optimizer(), start_factor=0)
    with pytest.raises(ValueError, match="end_factor"):
        lr_scheduler.LinearLR(optimizer(), end_factor=2)


def test_resuming_needs_the_first_rates():
    with pytest.raises(KeyError, match="initial_lr"):
        lr_scheduler.StepLR(optimizer(), 2, last_epoch=3)
    with pytest.raises(TypeError, match="takes an Optimizer, not int"):
        lr_scheduler.StepLR(3, 2)
    with pytest.raises(NotImplementedError, match="get_lr"):
        lr_scheduler.LRScheduler(optimizer())


def test_chained():
    o = optimizer(1.0)
    parts = [lr_scheduler.ConstantLR(o, 0.1, 2), lr_scheduler.ExponentialLR(o, 0.5)]
    chained = lr_scheduler.ChainedScheduler(parts, optimizer=o)
    assert [rate for (rate,) in follow(chained, 4)] == pytest.approx([0.1, 0.05, 0.25, 0.125])
    with pytest.raises(ValueError, match="needs at least one"):
        lr_scheduler.ChainedScheduler([])
    with pytest.raises(ValueError, match="needs a metric"):
        lr_scheduler.ChainedScheduler([lr_scheduler.ReduceLROnPlateau(o)])
    with pytest.raises(TypeError, match="is no schedule but int"):
        lr_scheduler.ChainedScheduler([3])


def test_chained_saved_and_resumed():
    def make(o):
        parts = [lr_scheduler.ConstantLR(o, 0.1, 5), lr_scheduler.ExponentialLR(o, 0.5)]
        return lr_scheduler.ChainedScheduler(parts)

    whole = follow(make(optimizer()), 9)
    first = make(optimizer())
    follow(first, 3)
    second = make(optimizer())
    second.optimizer.load_state_dict(first.optimizer.state_dict())
    second.load_state_dict(first.state_dict())
    assert follow(second, 6) == whole[3:]


@pytest.mark.parametrize(("kind", "name"), [(optim.SGD, "momentum"), (optim.Adam, "betas")])
def test_cycles_move_the_momentum_against_the_rate(kind, name):
    def momentum(schedule):
        value = schedule.optimizer.param_groups[0][name]
        return value[0] if name == "betas" else value

    p = flambeau.zeros(1)
    cyclic = lr_scheduler.CyclicLR(
        kind([p], lr=1.0, **{name: 0.5 if name == "momentum" else (0.5, 0.9)}), 0.1, 1.0, 2
    )
    trace = []
    for _ in range(5):
        trace.append(momentum(cyclic))
        cyclic.optimizer.step()
        cyclic.step()
    assert trace == pytest.approx([0.9, 0.85, 0.8, 0.85, 0.9])
    one = lr_scheduler.OneCycleLR(kind([p], lr=1.0), 1.0, 10)
    assert momentum(one) == 0.95
    with pytest.raises(ValueError, match="cycle_momentum=False"):
        lr_scheduler.CyclicLR(optim.Adagrad([p]), 0.1, 1.0)


def test_heights_of_cycles():
    def tops(**options):
        o = optim.SGD([flambeau.zeros(1)], lr=1.0, momentum=0.5)
        schedule = lr_scheduler.CyclicLR(o, 0.0, 1.0, 2, **options)
        return [rate for (rate,) in follow(schedule, 12)][2::4]

    assert tops() == pytest.approx([1, 1, 1])
    assert tops(mode="triangular2") == pytest.approx([1, 0.5, 0.25])
    assert tops(mode="exp_range", gamma=0.5) == pytest.approx([0.5**2, 0.5**6, 0.5**10])
    assert tops(scale_fn=lambda cycle: 1 / cycle) == pytest.approx([1, 1 / 2, 1 / 3])
    with pytest.raises(ValueError, match="mode is one of"):
        tops(mode="square")


def test_a_scaling_object_is_saved():
    class Shrink:
        rate = 0.5

        def __call__(self, cycle):
            return self.rate**cycle

    def make(scale):
        o = optimizer(1.0)
        return lr_scheduler.CyclicLR(o, 0.1, 1.0, scale_fn=scale, cycle_momentum=False)

    source, target = Shrink(), Shrink()
    source.rate = 0.25
    make(target).load_state_dict(make(source).state_dict())
    assert target.rate == 0.25
    assert make(lambda cycle: 1.0).state_dict()["_scale_fn_custom"] is None


def test_one_cycle_options():
    with pytest.raises(ValueError, match="give total_steps"):
        lr_scheduler.OneCycleLR(optimizer(), 1.0)
    with pytest.raises(ValueError, match="epochs is a positive integer, not 0"):
        lr_scheduler.OneCycleLR(optimizer(), 1.0, epochs=0, steps_per_epoch=3)
    with pytest.raises(ValueError, match="pct_start is a float"):
        lr_scheduler.OneCycleLR(optimizer(), 1.0, 10, pct_start=2.0)
    with pytest.raises(ValueError, match="anneal_strategy"):
        lr_scheduler.OneCycleLR(optimizer(), 1.0, 10, anneal_strategy="up")
    options = {"cycle_momentum": False}
    schedule = lr_scheduler.OneCycleLR(optimizer(), 1.0, epochs=1, steps_per_epoch=2, **options)
    follow(schedule, 2)
    with pytest.raises(ValueError, match="step 3 of a schedule of 2 steps"):
        schedule.step()


def test_restarts_may_go_anywhere():
    o = optimizer(1.0)
    schedule = lr_scheduler.CosineAnnealingWarmRestarts(o, 2, 2)
    for epoch in (0.5, 5.25, 1, 14):
        schedule.step(epoch)
        begin, length = (0, 2) if epoch < 2 else (2, 4) if epoch < 6 else (14, 16)
        expected = (1 + math.cos(math.pi * (epoch - begin) / length)) / 2
        assert schedule.get_last_lr() == [pytest.approx(expected)]
    with pytest.raises(ValueError, match="at least 0"):
        schedule.step(-1)
    with pytest.raises(ValueError, match="T_0 is a positive integer"):
        lr_scheduler.CosineAnnealingWarmRestarts(o, 0)


@pytest.mark.parametrize(("make", "form"), FORMS.values(), ids=FORMS)
def test_rates_may_be_tensors(make, form):
    groups = [{"params": [flambeau.zeros(1)], "lr": flambeau.tensor(lr)} for lr in (0.5, 0.02)]
    o = optim.SGD(groups)
    rates = [group["lr"] for group in o.param_groups]
    schedule = make(o)
    first = schedule.get_last_lr()
    expected = [form(0, 0.5), form(0, 0.02)]
    for _ in range(2):
        o.step()
        schedule.step()
    assert [float(rate) for rate in first] == pytest.approx(expected, rel=1e-5)
    assert [group["lr"] for group in o.param_groups] == rates
    assert all(group["lr"] is rate for group, rate in zip(o.param_groups, rates, strict=True))
    expected = [form(2, 0.5), form(2, 0.02)]
    assert [float(rate) for rate in rates] == pytest.approx(expected, rel=1e-5)


def test_an_epoch_may_be_given():
    schedule = lr_scheduler.StepLR(optimizer(1.0), 3, 0.5)
    schedule.optimizer.step()
    with pytest.warns(UserWarning, match=re.escape(lr_scheduler.EPOCH_DEPRECATION_WARNING)):
        schedule.step(7)
    assert schedule.get_last_lr() == [0.25]


def test_a_cosine_rises_from_where_the_rate_is():
    p = flambeau.zeros(1)
    optimizer = optim.SGD([p], lr=1.0)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, 2, 0.5)
    for _ in range(2):
        optimizer.step()
        schedule.step()
    optimizer.param_groups[0]["lr"] = 0.1  # as another schedule might at the bottom
    optimizer.step()
    schedule.step()
    assert schedule.get_last_lr() == pytest.approx([0.1 + (1.0 - 0.5) / 2])


def test_schedules_from_elsewhere_learn_who_calls_them():
    seen = []

    class Asking(optim.lr_scheduler.LRScheduler):
        def get_lr(self):
            seen.append(self._get_lr_called_within_step)
            return [group["lr"] for group in self.optimizer.param_groups]

    schedule = Asking(optim.SGD([flambeau.zeros(1)]))
    schedule.get_lr()
    assert seen == [True, False]
    assert schedule.state_dict()["_get_lr_called_within_step"] is False


@pytest.mark.parametrize(
    "make",
    [
        lambda o: optim.lr_scheduler.StepLR(o, 2),
        lambda o: optim.lr_scheduler.LambdaLR(o, lambda epoch: 1.0),
        lambda o: optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 2),
        lambda o: optim.lr_scheduler.OneCycleLR(o, 1.0, total_steps=9),
        lambda o: optim.swa_utils.SWALR(o, 0.1),
    ],
)
def test_get_lr_is_for_steps(make):
    schedule = make(optim.SGD([flambeau.zeros(1)], momentum=0.9))
    with pytest.warns(UserWarning, match=r"get_last_lr\(\) gives those in force"):
        schedule.get_lr()
