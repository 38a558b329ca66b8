"""Masks of weights, and levels over time, as PyTorch computes them."""
from __future__ import annotations

import pickle

import numpy as np
import pytest

import flambeau as fl
from flambeau.ao import pruning

WEIGHT = np.random.default_rng(5).standard_normal((12, 16)).astype(np.float32)


def masked(lib, sparsifier):
    model = lib.nn.Sequential(lib.nn.Linear(16, 12))
    model[0].weight.data = lib.from_numpy(WEIGHT.copy())
    sparsifier.prepare(model, None)
    sparsifier.step()
    sparsifier.squash_mask()
    return model[0].weight.detach().numpy()


@pytest.mark.oracle
@pytest.mark.parametrize("arguments", [
    {}, {"sparsity_level": 0.3, "sparse_block_shape": (2, 2)}, {"norm": 1},
    {"sparsity_level": 0.7, "sparse_block_shape": (1, 1)},
    {"sparsity_level": 1.0, "zeros_per_block": 2}, {"sparsity_level": 0.4, "zeros_per_block": 3},
    {"sparse_block_shape": (3, 4), "zeros_per_block": 7}], ids=str)
def test_norms_are_those_of_pytorch(arguments):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    theirs = pytest.importorskip("torch.ao.pruning")
    expected = masked(torch, theirs.WeightNormSparsifier(**arguments))
    np.testing.assert_array_equal(masked(fl, pruning.WeightNormSparsifier(**arguments)), expected)


@pytest.mark.oracle
def test_levels_are_those_of_pytorch():
    theirs = pytest.importorskip("torch.ao.pruning", reason="PyTorch is not installed")
    torch = pytest.importorskip("torch")
    levels = []
    for lib, room in ((torch, theirs), (fl, pruning)):
        sparsifier = room.WeightNormSparsifier(0.8)
        sparsifier.prepare(lib.nn.Sequential(lib.nn.Linear(4, 4), lib.nn.Linear(4, 4)), None)
        scheduler = room.CubicSL(sparsifier, init_sl=[0.1, 0.2], init_t=1, delta_t=2, total_t=4)
        found = [scheduler.get_last_sl()]
        for _ in range(10):
            sparsifier.step()
            scheduler.step()
            found.append(scheduler.get_last_sl())
        levels.append(found)
    assert levels[0] == levels[1]


def test_a_band_and_its_gradient():
    model = fl.nn.Sequential(fl.nn.Linear(4, 4, bias=False))
    sparsifier = pruning.NearlyDiagonalSparsifier(3)
    sparsifier.prepare(model, [{"tensor_fqn": "0.weight"}])
    sparsifier.step()
    model(fl.ones(1, 4)).sum().backward()
    band = [[float(abs(i - j) <= 1) for j in range(4)] for i in range(4)]
    assert model[0].parametrizations.weight.original.grad.tolist() == band
    assert not [name for name in model.state_dict() if "mask" in name]


def test_shapes_that_blocks_do_not_fill():
    model = fl.nn.Sequential(fl.nn.Linear(5, 3))
    sparsifier = pruning.WeightNormSparsifier(1.0, (2, 4), 3)
    sparsifier.prepare(model, None)
    sparsifier.step()
    mask = sparsifier.state["0.weight"]["mask"]
    assert mask.shape == (3, 5) and (mask[:2, :4] == 0).sum() == 3


def test_state_and_what_is_refused():
    model = fl.nn.Sequential(fl.nn.Linear(8, 4))
    sparsifier = pruning.WeightNormSparsifier()
    with pytest.raises(ValueError, match="tensor_fqn"):
        sparsifier.prepare(model, [{}])
    sparsifier.prepare(model, None)
    sparsifier.step()
    state = pickle.loads(pickle.dumps(sparsifier.state_dict()))
    other = pruning.WeightNormSparsifier()
    other.model = fl.nn.Sequential(fl.nn.Linear(8, 4))
    other.load_state_dict(state)
    mask = other.model[0].parametrizations.weight[0].mask
    assert fl.equal(mask, model[0].parametrizations.weight[0].mask) and mask.sum() == 16
    other.model = fl.nn.Sequential()
    with pytest.raises(RuntimeError, match="no 0.weight"):
        other.load_state_dict(state)
    with pytest.raises(TypeError, match="takes a sparsifier"):
        pruning.LambdaSL(model, float)
    with pytest.warns(UserWarning, match="before sparsifier"):
        pruning.LambdaSL(sparsifier, lambda epoch: 0.5).step()
