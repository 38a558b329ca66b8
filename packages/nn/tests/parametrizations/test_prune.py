"""Pruning, against PyTorch where nothing is random, and by counting."""

import numpy as np
import pytest
from modules_kit import close, give, ours, refuses

import flambeau
from flambeau import nn
from flambeau.nn.modules.module._hooks import hooks_of
from flambeau.nn.utils import prune

X = np.random.default_rng(0).standard_normal((5, 6)).astype("float32")
SCORES = np.random.default_rng(1).standard_normal((4, 6)).astype("float32")
MASK = (np.arange(24).reshape(4, 6) % 3 > 0).astype("float32")

STEPS = {
    "identity": [lambda p, t, m: p.identity(m, "weight")],
    "l1": [lambda p, t, m: p.l1_unstructured(m, "weight", 7)],
    "fraction": [lambda p, t, m: p.l1_unstructured(m, "weight", 0.3)],
    "scores": [lambda p, t, m: p.l1_unstructured(m, "weight", 5, t(SCORES))],
    "rows": [lambda p, t, m: p.ln_structured(m, "weight", 2, 2, 0)],
    "columns": [lambda p, t, m: p.ln_structured(m, "weight", 0.5, float("inf"), -1)],
    "row scores": [lambda p, t, m: p.ln_structured(m, "weight", 1, 1, 0, t(SCORES))],
    "mask": [lambda p, t, m: p.custom_from_mask(m, "weight", t(MASK))],
    "twice": [lambda p, t, m: p.l1_unstructured(m, "weight", 0.5)] * 2,
    "both kinds": [
        lambda p, t, m: p.ln_structured(m, "weight", 1, 2, 0),
        lambda p, t, m: p.l1_unstructured(m, "weight", 0.25),
        lambda p, t, m: p.ln_structured(m, "weight", 1, 2, 1),
        lambda p, t, m: p.custom_from_mask(m, "weight", t(MASK)),
        lambda p, t, m: p.l1_unstructured(m, "bias", 2),
    ],
    "together": [
        lambda p, t, m: p.global_unstructured(
            [(m, "weight"), (m, "bias")], p.L1Unstructured, amount=0.4
        )
    ]
    * 2,
    "together by scores": [
        lambda p, t, m: p.global_unstructured(
            [(m, "weight"), (m, "bias")], p.L1Unstructured, {(m, "weight"): t(SCORES)}, amount=9
        )
    ],
}


@pytest.mark.oracle
@pytest.mark.parametrize("name", STEPS)
def test_against_torch(name):
    torch = pytest.importorskip("torch")
    import torch.nn.utils.prune as theirs_prune

    theirs, mine = torch.nn.Linear(6, 4), nn.Linear(6, 4)
    mine.load_state_dict({key: ours(value) for key, value in theirs.state_dict().items()})
    for step in STEPS[name]:
        step(prune, flambeau.tensor, mine)
        step(theirs_prune, torch.tensor, theirs)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    for key, value in theirs.state_dict().items():
        close(mine.state_dict()[key], value)
    close(mine.weight, theirs.weight)
    results = []
    for package, module in ((flambeau, mine), (torch, theirs)):
        out = module(package.tensor(X))
        out.cos().sum().backward()
        results.append([out, *(param.grad for param in module.parameters())])
    for a, b in zip(*results, strict=True):
        close(a, b, scale=5)
    prune.remove(mine, "weight")
    theirs_prune.remove(theirs, "weight")
    assert sorted(mine.state_dict()) == sorted(theirs.state_dict())
    close(mine.weight, theirs.weight)


def zeros(layer):
    return int((layer.weight == 0).sum())


def test_the_smallest_go():
    layer = prune.l1_unstructured(nn.Linear(6, 4), "weight", 7)
    magnitudes = np.sort(abs(give(layer.weight_orig)).ravel())
    kept = abs(give(layer.weight))
    assert zeros(layer) == 7
    assert kept[kept > 0].min() == magnitudes[7]


@pytest.mark.parametrize(("amount", "count"), [(5, 5), (0.25, 6), (0, 0), (1.0, 24), (0.1, 2)])
def test_at_random(amount, count):
    assert zeros(prune.random_unstructured(nn.Linear(6, 4), "weight", amount)) == count


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_rows_and_columns_at_random(dim):
    layer = prune.random_structured(nn.Linear(6, 4), "weight", 2, dim)
    gone = (give(layer.weight) == 0).all(1 - dim % 2)
    assert gone.sum() == 2
    prune.random_structured(layer, "weight", 0.5, dim)
    assert (give(layer.weight) == 0).all(1 - dim % 2).sum() == (3 if dim == 0 else 4)


def test_training_keeps_zeros():
    layer = prune.l1_unstructured(nn.Linear(6, 4), "weight", 10)
    before = give(layer.weight).copy()
    layer(flambeau.tensor(X)).pow(2).sum().backward()
    with flambeau.no_grad():
        layer.weight_orig.sub_(0.1 * layer.weight_orig.grad)
    layer(flambeau.tensor(X))
    after = give(layer.weight)
    assert ((after == 0) == (before == 0)).all()
    assert (after != before).any()


def test_removing():
    layer = nn.Linear(6, 4)
    original = layer.weight
    prune.l1_unstructured(layer, "weight", 10)
    pruned = give(layer.weight).copy()
    assert prune.is_pruned(layer)
    prune.remove(layer, "weight")
    assert layer.weight is original
    np.testing.assert_array_equal(give(layer.weight), pruned)
    assert not prune.is_pruned(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"]


def test_a_method_leaves_its_hook_to_the_caller():
    layer = prune.l1_unstructured(nn.Linear(6, 4), "weight", 10)
    pruned = give(layer.weight).copy()
    for number, hook in list(layer._forward_pre_hooks.items()):
        hook.remove(layer)
        del layer._forward_pre_hooks[number]
    np.testing.assert_array_equal(give(layer.weight), pruned)
    assert isinstance(layer.weight, nn.Parameter)
    assert not prune.is_pruned(layer)
    assert not layer._forward_pre_hooks


def test_containers():
    layer = prune.l1_unstructured(nn.Linear(6, 4), "weight", 3)
    container = prune.L1Unstructured.apply(layer, "weight", 2)
    assert isinstance(container, prune.PruningContainer)
    assert [type(each).__name__ for each in container] == ["L1Unstructured"] * 2
    assert len(container) == 2 and container[0].amount == 3
    assert zeros(layer) == 5
    assert len(hooks_of(layer, "forward_pre")) == 1
    with pytest.raises(TypeError, match="int is not a BasePruningMethod"):
        container.add_pruning_method(3)
    other = prune.Identity()
    other._tensor_name = "bias"
    with pytest.raises(ValueError, match="for 'weight' cannot take one for 'bias'"):
        container.add_pruning_method(other)


def test_tensors():
    t = flambeau.tensor([1.0, -3.0, 2.0, 0.5])
    method = prune.L1Unstructured(amount=2)
    assert method.prune(t).tolist() == [0, -3, 2, 0]
    assert method.prune(t, importance_scores=-t).tolist() == [0, -3, 2, 0]
    mask = flambeau.tensor([1.0, 0.0, 1.0, 1.0])
    assert method.prune(t, mask).tolist() == [0, 0, 2, 0]


MISTAKES = [
    (lambda p, u: u.random_unstructured(p.nn.Linear(2, 2), "weight", 5), ValueError, "more|should"),
    (lambda p, u: u.random_unstructured(p.nn.Linear(2, 2), "weight", 1.5), ValueError, "amount"),
    (lambda p, u: u.random_unstructured(p.nn.Linear(2, 2), "weight", -1), ValueError, "amount"),
    (lambda p, u: u.l1_unstructured(p.nn.Linear(2, 2), "weight", "x"), TypeError, "amount"),
    (lambda p, u: u.l1_unstructured(p.nn.Linear(2, 2), "x", 1), AttributeError, "x"),
    (
        lambda p, u: u.l1_unstructured(p.nn.Linear(2, 2), "weight", 1, p.ones(3)),
        AssertionError,
        "shape",
    ),
    (lambda p, u: u.ln_structured(p.nn.Linear(2, 2), "bias", 1, 2, 0), ValueError, "dim"),
    (lambda p, u: u.ln_structured(p.nn.Linear(2, 2), "weight", 1, 2, 2), IndexError, "dim"),
    (lambda p, u: u.remove(p.nn.Linear(2, 2), "weight"), ValueError, "has to be pruned"),
    (
        lambda p, u: u.global_unstructured(
            [(p.nn.Linear(2, 2), "weight")], u.LnStructured, amount=1, n=2
        ),
        TypeError,
        "unstructured",
    ),
    (
        lambda p, u: u.global_unstructured([p.nn.Linear(2, 2)], u.L1Unstructured, amount=1),
        TypeError,
        "module",
    ),
]


@pytest.mark.parametrize(("make", "error", "text"), MISTAKES)
def test_mistakes(make, error, text):
    refuses(lambda package: make(package, package.nn.utils.prune), error, text, same_type=False)


@pytest.mark.oracle
@pytest.mark.parametrize(("make", "error", "text"), MISTAKES)
def test_mistakes_are_those_of_torch(make, error, text):
    pytest.importorskip("torch.nn.utils.prune")
    refuses(lambda package: make(package, package.nn.utils.prune), error, text)


def test_a_mistake_leaves_the_module_as_it_was():
    layer = nn.Linear(2, 2)
    weight = layer.weight
    with pytest.raises(ValueError, match="more than"):
        prune.l1_unstructured(layer, "weight", 9)
    assert layer.weight is weight
    assert not prune.is_pruned(layer)
    prune.l1_unstructured(layer, "weight", 1)
    with pytest.raises(ValueError, match="more than the 3"):
        prune.l1_unstructured(layer, "weight", 4)
    layer(flambeau.ones(2))
    assert zeros(layer) == 1


@pytest.mark.oracle
def test_a_seed_prunes_the_elements_that_pytorch_prunes():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    flambeau.random.set_algorithm("mt19937")
    try:
        masks = []
        for lib in (torch, flambeau):
            lib.manual_seed(2)
            layer, prune = lib.nn.Linear(6, 5), lib.nn.utils.prune
            prune.random_unstructured(layer, "weight", 7)
            prune.random_unstructured(layer, "weight", 0.3)
            prune.random_structured(layer, "weight", 2, dim=0)
            masks.append(layer.weight_mask.tolist())
        assert masks[0] == masks[1]
    finally:
        flambeau.random.set_algorithm("philox")
