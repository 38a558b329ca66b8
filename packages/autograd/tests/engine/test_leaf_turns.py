"""Hooks of leaves run as soon as the whole gradient is there, and not at the end of the pass."""

import random

import pytest
from numbers_for_tests import reals

import flambeau
from flambeau.autograd import Function


class Marked(Function):
    """Notes when the backward pass comes by."""

    @staticmethod
    def forward(ctx, x, log, name):
        ctx.log, ctx.name = log, name
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        ctx.log.append(ctx.name)
        return grad * 1, None, None


def marked_product(log, number, x, w):
    """The backward pass of the product follows the mark."""
    return Marked.apply((x @ w).tanh(), log, f"back {number}")


@pytest.mark.parametrize("kind", ["tensor", "post_accumulate", "node"])
def test_hooks_run_between_layers(kind):
    log, weights = [], [reals(3, 3, seed=i) for i in range(4)]
    for number, w in enumerate(weights):
        note = lambda *given, name=f"hook {number}": log.append(name)  # noqa: E731
        if kind == "tensor":
            w.register_hook(note)
        elif kind == "post_accumulate":
            w.register_post_accumulate_grad_hook(note)
        else:
            node = w.view_as(w).grad_fn.next_functions[0][0]
            node.register_hook(note)
    for _ in range(2):          # leaves are older than everything in the second pass
        log.clear()
        x = reals(2, 3)
        for number, w in enumerate(weights):
            x = marked_product(log, number, x, w)
        x.sum().backward()
        assert log == [f"{what} {number}" for number in (3, 2, 1, 0) for what in ("back", "hook")]


def test_gradients_can_be_given_up_as_they_come():
    weights = [reals(3, 3, seed=i) for i in range(5)]
    held, most = set(), []

    def give_up(w):
        held.add(id(w))
        most.append(len(held))
        w.grad = None
        held.clear()

    for w in weights:
        w.register_post_accumulate_grad_hook(give_up)
    x = reals(2, 3)
    for w in weights:
        x = x @ w
    x.sum().backward()
    assert most == [1] * 5


def random_graph(seed, leaves, log):
    """Operators on random earlier results; returns the last and who read each leaf."""
    chance = random.Random(seed)
    values = list(leaves)
    readers = {id(leaf): [] for leaf in leaves}
    for number in range(25):
        a, b = chance.choice(values), chance.choice(values)
        name = f"back {number}"
        for value in (a, b):
            if id(value) in readers:
                readers[id(value)].append(name)
        values.append(Marked.apply(a * 0.5 + b, log, name))
    return sum(values[len(leaves):]).sum(), readers


@pytest.mark.parametrize("seed", range(40))
def test_hooks_see_whole_gradients_after_all_readers(seed):
    log, leaves = [], [reals(2, seed=i) for i in range(4)]
    seen = {}
    for number, leaf in enumerate(leaves):
        leaf.register_hook(lambda grad, number=number: seen.setdefault(number, []).append(
            (grad.clone(), list(log))))
    result, readers = random_graph(seed, leaves, log)
    plain = [reals(2, seed=i) for i in range(4)]
    expected = flambeau.autograd.grad(random_graph(seed, plain, [])[0], plain, allow_unused=True)
    result.backward()
    for number, (leaf, wanted) in enumerate(zip(leaves, expected, strict=True)):
        if wanted is None:
            assert number not in seen
            continue
        (grad, before), = seen[number]
        assert flambeau.equal(grad, wanted)
        assert flambeau.equal(leaf.grad, wanted)
        assert before[-1] == readers[id(leaf)][0]       # the oldest reader, which comes last


def test_parts_of_two_graphs_meet_in_one_pass():
    w, seen = reals(2), []
    w.register_hook(lambda grad: seen.append(grad.clone()))
    old = w + 1                     # saves nothing, so that it may run again
    old.sum().backward()
    (old.sum() + (w * 3).sum()).backward()
    assert [grad.tolist() for grad in seen] == [[1.0, 1.0], [4.0, 4.0]]
