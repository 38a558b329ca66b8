"""Learning-rate schedules against their closed forms."""

import bisect
import math

import pytest

import flambeau
from flambeau import optim
from flambeau.optim import lr_scheduler

EPOCHS = 25


def optimizer(*rates):
    groups = [{"params": [flambeau.zeros(1)], "lr": lr} for lr in rates or (0.5, 0.02)]
    return optim.SGD(groups, lr=1.0)


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
    with pytest.raises(ValueError, match="1 functions for 2 parameter groups"):
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


def test_sequential_refuses():
    o = optimizer()
    one = lr_scheduler.ExponentialLR(o, 0.5)
    with pytest.raises(ValueError, match="1 schedules need 0 milestones, not 1"):
        lr_scheduler.SequentialLR(o, [one], [3])
    with pytest.raises(ValueError, match="at least one"):
        lr_scheduler.SequentialLR(o, [], [])
    with pytest.raises(ValueError, match="another optimizer"):
        lr_scheduler.SequentialLR(optimizer(), [one], [])
    with pytest.raises(ValueError, match="needs a metric"):
        lr_scheduler.SequentialLR(o, [lr_scheduler.ReduceLROnPlateau(o)], [])


def test_plateau():
    schedule = lr_scheduler.ReduceLROnPlateau(
        optimizer(1.0), factor=0.5, patience=1, cooldown=1, min_lr=0.2
    )
    metrics = [3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    rates = []
    for metric in metrics:
        schedule.step(metric)
        rates += schedule.get_last_lr()
    assert rates == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2]


@pytest.mark.parametrize(
    ("mode", "threshold_mode", "metrics", "bad"),
    [
        ("min", "rel", [1.0, 0.95], 1),
        ("min", "rel", [1.0, 0.85], 0),
        ("max", "rel", [1.0, 1.05], 1),
        ("max", "rel", [1.0, 1.15], 0),
        ("min", "abs", [5.0, 4.95], 1),
        ("min", "abs", [5.0, 4.85], 0),
        ("max", "abs", [5.0, 5.05], 1),
        ("max", "abs", [5.0, 5.15], 0),
    ],
)
def test_plateau_thresholds(mode, threshold_mode, metrics, bad):
    schedule = lr_scheduler.ReduceLROnPlateau(
        optimizer(), mode, threshold=0.1, threshold_mode=threshold_mode
    )
    for metric in metrics:
        schedule.step(flambeau.tensor(metric))
    assert schedule.num_bad_epochs == bad


def test_plateau_options():
    with pytest.raises(ValueError, match="factor is less than 1"):
        lr_scheduler.ReduceLROnPlateau(optimizer(), factor=1.0)
    with pytest.raises(ValueError, match="mode is"):
        lr_scheduler.ReduceLROnPlateau(optimizer(), mode="up")
    with pytest.raises(ValueError, match="threshold_mode is"):
        lr_scheduler.ReduceLROnPlateau(optimizer(), threshold_mode="up")
    with pytest.raises(ValueError, match="1 least rates"):
        lr_scheduler.ReduceLROnPlateau(optimizer(), min_lr=[0.1])


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
