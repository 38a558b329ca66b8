"""Checkpoints that keep the results of chosen operators."""

import functools

import pytest
from numbers_for_tests import reals

import flambeau
from flambeau.autograd import grad
from flambeau.utils.checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    checkpoint,
    create_selective_checkpoint_contexts,
)

ATEN = flambeau.ops.aten


def block(x, w):
    return ((x @ w).tanh() @ w).exp() * x


def checkpointed(function, x, w, chosen, **options):
    contexts = functools.partial(create_selective_checkpoint_contexts, chosen, **options)
    return checkpoint(function, x, w, use_reentrant=False, context_fn=contexts)


def counted(call):
    """What a call gives, and how often each operator ran in it."""
    from flambeau.utils._python_dispatch import TorchDispatchMode

    seen = {}

    class Counts(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen[str(func)] = seen.get(str(func), 0) + 1
            return func(*args, **(kwargs or {}))

    with Counts():
        result = call()
    return result, seen


@pytest.mark.parametrize("chosen", [
    [], [ATEN.mm.default], [ATEN.mm.default, ATEN.tanh.default, ATEN.exp.default],
    lambda context, op, *args, **kwargs: True,
    lambda context, op, *args, **kwargs: CheckpointPolicy.PREFER_RECOMPUTE])
def test_gradients_are_equal_to_the_bit(chosen):
    x, w = reals(3, 3), reals(3, 3, seed=1)
    found = grad(checkpointed(block, x, w, chosen).sum(), (x, w))
    expected = grad(block(x, w).sum(), (x, w))
    assert all(flambeau.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_what_is_kept_is_not_computed_again():
    x, w = reals(3, 3), reals(3, 3, seed=1)
    backwards = []
    for chosen in ([], [ATEN.mm.default]):
        y = checkpointed(block, x, w, chosen).sum()
        backwards.append(counted(functools.partial(grad, y, (x, w)))[1])
    assert backwards[0]["aten.mm.default"] - backwards[1]["aten.mm.default"] == 2
    assert backwards[0]["aten.tanh.default"] == backwards[1]["aten.tanh.default"]


def test_attention_is_kept_under_its_name():
    q = reals(1, 2, 4, 8)
    name = ATEN._scaled_dot_product_flash_attention_for_cpu.default

    def attend(q, w):
        return flambeau.nn.functional.scaled_dot_product_attention(q.tanh(), q, q)

    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    y = checkpointed(attend, q, None, [name])
    found, seen = counted(lambda: grad(y.sum(), q))
    assert str(name) not in seen
    assert flambeau.equal(found[0], grad(attend(q, None).sum(), q)[0])


def test_the_policy_is_told_what_the_operator_gave():
    told = []

    def policy(context, op, *args, **kwargs):
        assert isinstance(context, SelectiveCheckpointContext)
        assert not context.is_recompute
        told.append((op, context.op_output.shape))
        return False

    x, w = reals(2, 3), reals(3, 3, seed=1)
    y = checkpointed(lambda x, w: x @ w, x, w, policy)
    grad(y.sum(), x)
    assert told == [(ATEN.mm.default, (2, 3))]


def test_a_second_backward_pass_is_refused():
    x, w = reals(3, 3), reals(3, 3, seed=1)
    y = checkpointed(block, x, w, [ATEN.mm.default]).sum()
    grad(y, x, retain_graph=True)
    with pytest.raises(RuntimeError, match="backward an extra time"):
        grad(y, x)


def test_a_write_to_what_is_kept_is_refused_or_allowed():
    def writing(x, w):
        return (x @ w).mul_(2).exp()

    x, w = reals(3, 3), reals(3, 3, seed=1)
    with pytest.raises(RuntimeError, match="has been mutated"):
        grad(checkpointed(writing, x, w, [ATEN.mm.default]).sum(), x)
    allowed = checkpointed(writing, x, w, [ATEN.mm.default, ATEN.mul_.Tensor],
                           allow_cache_entry_mutation=True)
    assert flambeau.equal(grad(allowed.sum(), x)[0], grad(writing(x, w).sum(), x)[0])


def test_other_operations_in_the_second_run_are_refused():
    runs = []

    def changing(x, w):
        runs.append(1)
        return (x.exp() if len(runs) == 1 else x.sin()).tanh()

    x, w = reals(3, 3), reals(3, 3, seed=1)
    with pytest.raises(RuntimeError, match=r"aten\.sin\.default encountered during backward"):
        grad(checkpointed(changing, x, w, []).sum(), x)


@pytest.mark.parametrize("chosen, error, match", [
    ([ATEN.mm], ValueError, "OpOverload"), ([flambeau.exp], ValueError, "OpOverload"),
    (3, TypeError, "function or a list")])
def test_what_is_no_policy_is_refused(chosen, error, match):
    with pytest.raises(error, match=match):
        create_selective_checkpoint_contexts(chosen)
