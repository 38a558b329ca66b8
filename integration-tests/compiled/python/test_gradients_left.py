"""Gradients of the step before, which most training loops take away only after the forward pass."""

from __future__ import annotations

import copy

import pytest
from training import check_program, network, rows, weights

import flambeau
from flambeau import optim
from flambeau.nn import functional as F

TARGETS = flambeau.arange(4) % 3


def cleared_after_forward(compiled):
    net = network()
    optimizer = optim.Adam(net.parameters(), lr=1e-2)

    def step(x):
        loss = F.cross_entropy(net(x), TARGETS)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: weights(net)


def cleared_by_the_module(compiled):
    net = network()

    def step(x):
        loss = F.cross_entropy(net(x), TARGETS)
        net.zero_grad()
        loss.backward()
        with flambeau.no_grad():
            for param in net.parameters():
                param -= 0.1 * param.grad
        return loss

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: weights(net)


def two_networks(compiled):
    """The gradients of one are left by the pass of the other, which does not reach them."""
    one, other = network(6), network(1)
    optimizers = [optim.Adam(net.parameters(), lr=1e-2) for net in (one, other)]

    def step(x):
        optimizers[1].zero_grad()
        loss = F.softplus(other(one(x).detach())).mean() + F.softplus(-other(x)).mean()
        loss.backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        F.softplus(-other(one(x))).mean().backward()
        optimizers[0].step()
        return loss.detach()

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: weights(one, other)


def by_grad(compiled):
    """``autograd.grad`` adds nothing to the gradients that are there."""
    net = network(1)
    optimizer = optim.SGD(net.parameters(), lr=0.1)

    def step(x):
        x = x.detach().requires_grad_(True)
        slope, = flambeau.autograd.grad(net(x).sum(), x, create_graph=True)
        loss = (slope.norm(2, dim=1) - 1).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: weights(net)


def averaged_after_the_step(compiled):
    net = network()
    mean = copy.deepcopy(net)
    optimizer = optim.SGD(net.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), TARGETS)
        loss.backward()
        optimizer.step()
        with flambeau.no_grad():
            for param, kept in zip(net.parameters(), mean.parameters(), strict=True):
                kept.mul_(0.9).add_(param, alpha=0.1)
        return loss

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: weights(net, mean)


def added_up(compiled):
    """Every second call takes them away; the other one adds to what is there, perhaps in place."""
    net = network()
    optimizer = optim.SGD(net.parameters(), lr=0.1)

    def step(x, is_last):
        loss = F.cross_entropy(net(x), TARGETS) / 2
        loss.backward()
        if is_last:
            optimizer.step()
            optimizer.zero_grad()
        return loss

    run = compiled(step)
    return lambda k: run(rows(k), k % 2 == 1), lambda: weights(net)


def looked_at_first(compiled):
    net = network()
    optimizer = optim.SGD(net.parameters(), lr=0.1)

    def step(x):
        before = sum(p.grad.sum() for p in net.parameters() if p.grad is not None)
        loss = F.cross_entropy(net(x), TARGETS)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss, before

    run = compiled(step)
    return lambda k: run(rows(k)), lambda: weights(net)


@pytest.mark.parametrize("make", [
    cleared_after_forward, cleared_by_the_module, two_networks, by_grad, averaged_after_the_step],
    ids=lambda make: make.__name__)
def test_steps_that_do_not_look_at_them_are_replayed(make):
    check_program(make)


@pytest.mark.parametrize("make", [added_up, looked_at_first], ids=lambda make: make.__name__)
def test_steps_that_use_them_do_what_python_does(make):
    check_program(make, least=0)


def test_gradients_that_somebody_sets_between_calls():
    """They are taken away, whatever they are."""
    def make(compiled):
        net = network()
        optimizer = optim.SGD(net.parameters(), lr=0.1)

        def step(x):
            loss = F.cross_entropy(net(x), TARGETS)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        run = compiled(step)

        def call(k):
            for param in net.parameters():
                param.grad = None if k % 3 else flambeau.full_like(param, float(k))
            return run(rows(k))

        return call, lambda: weights(net)

    check_program(make)


def test_a_rate_that_a_scheduler_has_changed_is_not_replayed_as_it_was():
    """Parts of an optimizer that its own step, or a scheduler's, may have changed meanwhile."""
    def make(compiled):
        net = network()
        optimizer = optim.SGD(net.parameters(), lr=0.1)
        scheduler = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

        def step(x):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), TARGETS)
            loss.backward()
            optimizer.step()
            scheduler.step()
            return loss.detach(), scheduler.last_epoch

        run = compiled(step)
        return lambda k: run(rows(k)), lambda: weights(net)

    check_program(make, least=0)


def test_what_a_scheduler_calls_may_change_anything():
    def make(compiled):
        net, seen = network(), {"epoch": 0.0}
        optimizer = optim.SGD(net.parameters(), lr=0.1)

        def rate(epoch):
            seen["epoch"] = float(epoch)
            return 0.9 ** epoch

        scheduler = optim.lr_scheduler.LambdaLR(optimizer, rate)

        def step(x):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), TARGETS)
            loss.backward()
            optimizer.step()
            scheduler.step()
            return x * seen["epoch"]

        run = compiled(step)
        return lambda k: run(rows(k)), lambda: weights(net)

    check_program(make, least=0)
