"""Losses of class numbers and their gradients in compiled calls: the bits of uncompiled ones."""

from __future__ import annotations

import gc
import itertools

import numpy as np
import pytest

import flambeau as fl
from flambeau.jit import bridge
from flambeau.jit.deferral import emit
from flambeau.nn import functional as F

SHAPES = ((40, 16), (33, 100), (300, 17), (64, 1000), (20, 8192), (17, 9000), (50, 3), (1, 70))
DTYPES = ("float32", "float64", "bfloat16", "float16")
#: How scores become log-probabilities, and what is computed of them before.
CHAINS = {
    "scores": lambda a: a,
    "scaled": lambda a: a * 1.5 + 0.25,
    "strided": lambda a: fl.stack([a, a], -1)[..., 0] * 2,
    "columns": lambda a: a.t().contiguous().t() * 3,
}
OPTIONS = ({}, {"reduction": "sum"}, {"reduction": "none"}, {"ignore_index": 2}, {"weight": True},
           {"weight": True, "ignore_index": 1, "reduction": "sum"})


@pytest.fixture(autouse=True, params=["in registers", "in blocks"])
def everything_waits(request, monkeypatch, new_plans):
    """Small tensors wait too; rows are in registers, or kernels run in blocks of rows."""
    if request.param == "in blocks":
        monkeypatch.setattr(emit, "add_fused", lambda *args: False)


def _scores(shape, dtype, seed=0):
    values = np.random.default_rng(seed).standard_normal(shape) * 3
    values[::7, ::5] = -0.0
    values[3 % shape[0], 1] = np.nan
    values[5 % shape[0], :] = -np.inf
    values[-1, -1] = np.inf
    return fl.tensor(values, dtype=getattr(fl, dtype))


def _targets(shape, ignored=-100, seed=1):
    targets = fl.tensor(np.random.default_rng(seed).integers(0, shape[1], shape[0]))
    targets[::4] = ignored
    return targets


def _arguments(options, shape, dtype):
    arguments = dict(options)
    if arguments.pop("weight", False):
        values = np.random.default_rng(2).random(shape[1])
        arguments["weight"] = fl.tensor(values, dtype=getattr(fl, dtype))
    return arguments


def _bits(results):
    halves = (fl.bfloat16, fl.float16)
    arrays = [(t.float() if t.dtype in halves else t).detach().numpy() for t in results]
    return [(a.shape, np.where(np.isnan(a), np.nan, a).astype(a.dtype).tobytes()) for a in arrays]


def _cases(shape, dtype):
    """Each chain with all options: chain, targets, the loss's other arguments."""
    for chain, options in itertools.product(CHAINS.values(), OPTIONS):
        yield (chain, _targets(shape, options.get("ignore_index", -100)),
               _arguments(options, shape, dtype))


def _compare(run, *args):
    """A function's results uncompiled and compiled, thrice."""
    wanted = _bits(run(*args))
    compiled = fl.compile(run)
    for _ in range(3):
        assert _bits(compiled(*args)) == wanted
    return compiled


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_losses_and_gradients(dtype, shape):
    x = _scores(shape, dtype)
    for chain, targets, arguments in _cases(shape, dtype):
        def run(chain=chain, targets=targets, arguments=arguments):
            a = x.detach().requires_grad_()
            loss = F.cross_entropy(chain(a), targets, **arguments)
            (loss * loss).sum().backward()
            return loss, a.grad
        _compare(run)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_losses_without_gradients(dtype, shape):
    x = _scores(shape, dtype)
    for chain, targets, arguments in _cases(shape, dtype):
        def run(chain=chain, targets=targets, arguments=arguments):
            scores = chain(x)
            loss = F.cross_entropy(scores, targets, **arguments)
            return loss, loss * 2, x
        _compare(run)


def test_one_step_over_rows_without_gradients():
    x, targets = _scores((64, 100), "float32"), _targets((64, 100))
    compiled = _compare(lambda: [F.cross_entropy(x * 1.5, targets)])
    assert compiled.explain().splitlines()[0] == "run at the end:"
    assert "mul; log_softmax_at" in compiled.explain()


def test_targets_that_are_written_after_the_loss():
    x, other = _scores((40, 30), "float32"), _scores((40, 30), "float32", 5)

    def run(targets):
        scores = x * 1.5
        loss = F.cross_entropy(scores, targets)
        scores.copy_(other)
        targets.add_(1).clamp_(0, 29)
        again = F.cross_entropy(scores, targets, reduction="sum")
        return [loss, again, loss + again, targets, scores]
    wanted = _bits(run(_targets((40, 30))))
    compiled = fl.compile(run)
    for _ in range(3):
        assert _bits(compiled(_targets((40, 30)))) == wanted


@pytest.mark.parametrize("read", ["loss", "probabilities", "nothing"])
def test_what_python_looks_at_in_between(read):
    x, targets = _scores((40, 30), "float32"), _targets((40, 30))

    def run():
        a = x.detach().requires_grad_()
        made = (a * 2).log_softmax(1)
        loss = F.nll_loss(made, targets)
        seen = [loss.item()] if read == "loss" else made.tolist() if read != "nothing" else []
        loss.backward(retain_graph=True)
        first = a.grad.clone()
        loss.backward()
        return [loss, first, a.grad, fl.tensor(seen).sum()]
    _compare(run)


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_step_over_rows(dtype):
    x, targets = _scores((64, 100), dtype), _targets((64, 100))

    def run():
        a = x.detach().requires_grad_()
        F.cross_entropy(a * 1.5, targets).backward()
        return [a.grad]
    compiled = _compare(run)
    assert len(compiled.explain().splitlines()) == 2
    assert "log_softmax; nll_loss_grad; log_softmax_grad" in compiled.explain()


def test_writes_between_the_passes():
    x = _scores((40, 30), "float32")

    def run(targets):
        a = x.clone().requires_grad_()
        scores = a * 1.5
        loss = F.cross_entropy(scores, targets)
        with fl.no_grad():
            scores.fill_(7.0)       # the loss has read it
        loss.backward()
        targets.zero_()             # the gradient has read them
        return [loss, a.grad, targets]
    wanted = _bits(run(_targets((40, 30))))
    compiled = fl.compile(run)
    for _ in range(3):
        assert _bits(compiled(_targets((40, 30)))) == wanted


def test_targets_that_are_made_inside_or_elsewhere():
    x, base = _scores((40, 30), "float32"), _targets((40, 30), 3)
    array = base.numpy().copy()
    others = [lambda: base + 0, lambda: fl.from_numpy(array), lambda: base.int(),
              lambda: fl.stack([base, base], 1)[:, 0]]
    for make in others:
        def run(make=make):
            a = x.detach().requires_grad_()
            loss = F.cross_entropy(a * 2, make().long(), ignore_index=3)
            loss.backward()
            return loss, a.grad
        _compare(run)


@pytest.mark.parametrize("wrong", [-1, 30, 2**40])
def test_numbers_that_are_no_classes_without_gradients(wrong):
    x, targets = _scores((40, 30), "float32"), _targets((40, 30))
    targets[7] = wrong
    seen = []

    @fl.compile
    def run():
        seen.append(x * 2)
        F.cross_entropy(seen[-1], targets)
        seen.append(None)

    for _ in range(2):
        seen.clear()
        with pytest.raises(IndexError, match=f"Target {wrong} "):
            run()
        assert _bits(seen) == _bits([x * 2])


@pytest.mark.parametrize("wrong", [-1, 30, 2**40])
def test_numbers_that_are_no_classes(wrong):
    x, targets = _scores((40, 30), "float32"), _targets((40, 30))
    targets[7] = wrong
    lines = []

    @fl.compile
    def run():
        a = x.detach().requires_grad_()
        b = a * 2
        lines.append("before")
        loss = F.cross_entropy(b, targets)
        lines.append("after")
        return loss

    with pytest.raises(IndexError, match=f"Target {wrong} "):
        run()
    assert lines == ["before"]

    @fl.compile
    def gradient():
        y = x.log_softmax(1)
        good = targets.clamp(0, 29)
        loss, total = bridge.call("nll_loss_rows", [y, good, None, 1, -100])
        return bridge.call("nll_loss_grad", [loss, y, targets, None, 1, -100, total])

    with pytest.raises(IndexError, match=f"Target {wrong} "):
        gradient()


def test_python_s_collector_runs_whenever_it_likes():
    x, targets = _scores((40, 30), "float32"), _targets((40, 30))

    def run():
        a = x.detach().requires_grad_()
        loss = F.cross_entropy(a * 2, targets)
        loss.backward()
        return loss, a.grad
    wanted = _bits(run())
    compiled, before = fl.compile(run), gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(3):
            assert _bits(compiled()) == wanted
    finally:
        gc.set_threshold(*before)


def test_a_long_list_of_calls():
    x, targets = _scores((20, 30), "float32"), _targets((20, 30))

    def run():
        losses, grads = [], []
        for k in range(60):
            a = x.detach().requires_grad_()
            loss = F.cross_entropy(a * k, targets)
            loss.backward()
            losses.append(loss.detach())
            grads.append(a.grad)
        return losses + grads
    _compare(run)


def test_second_gradients():
    x, targets = _scores((20, 30), "float64"), _targets((20, 30))

    def run():
        a = fl.nan_to_num(x, 0.0, 1.0, -1.0).requires_grad_()
        loss = F.cross_entropy(a * 2, targets)
        (first,) = fl.autograd.grad(loss, a, create_graph=True)
        (second,) = fl.autograd.grad((first * first).sum(), a)
        return first, second
    _compare(run)
