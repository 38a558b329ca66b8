"""What schedules refuse, and what they say."""

import pytest
from rates import optimizer

from flambeau.optim import lr_scheduler


@pytest.mark.parametrize("step_size", [0, -1, 2.5, "a"])
def test_steps_are_whole_numbers(step_size):
    with pytest.raises(ValueError, match="step_size is an integer of at least 1"):
        lr_scheduler.StepLR(optimizer(), step_size)


@pytest.mark.parametrize("kind", [lr_scheduler.LambdaLR, lr_scheduler.MultiplicativeLR])
def test_what_is_no_function_is_refused(kind):
    with pytest.raises(TypeError, match="lr_lambda is a function of the epoch.*, not int"):
        kind(optimizer(), 3)


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


def test_steps_may_be_whole_floating_point_numbers():
    found = optimizer()
    schedule = lr_scheduler.StepLR(found, 2.0, gamma=0.5)
    first = schedule.get_last_lr()[0]
    for _ in range(2):
        found.step()
        schedule.step()
    assert schedule.get_last_lr()[0] == first / 2
