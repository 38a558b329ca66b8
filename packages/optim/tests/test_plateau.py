"""The schedule that waits for a metric to stop improving."""

import pytest
from rates import optimizer

import flambeau
from flambeau.optim import lr_scheduler


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
    with pytest.raises(ValueError, match="min_lr has 1 values for 2"):
        lr_scheduler.ReduceLROnPlateau(optimizer(), min_lr=[0.1])


def test_plateau_with_a_new_group():
    o = optimizer(1.0)
    one, many = (lr_scheduler.ReduceLROnPlateau(o, patience=0, min_lr=m) for m in (0.5, [0.5]))
    o.add_param_group({"params": [flambeau.zeros(1)], "lr": 2.0})
    one.step(1.0)
    one.step(1.0)
    assert one.get_last_lr() == [0.5, 0.5]
    many.step(1.0)
    with pytest.raises(RuntimeError, match=r"set schedule\.min_lrs"):
        many.step(1.0)
