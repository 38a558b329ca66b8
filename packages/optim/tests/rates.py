"""Optimizers for tests of schedules."""

import flambeau
from flambeau import optim


def optimizer(*rates):
    """One group of one parameter for each rate."""
    groups = [{"params": [flambeau.zeros(1)], "lr": lr} for lr in rates or (0.5, 0.02)]
    return optim.SGD(groups, lr=1.0)
