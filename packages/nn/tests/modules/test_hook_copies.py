"""Copies of modules that have hooks, by ``copy`` and by ``pickle``."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.nn.utils import parametrizations, parametrize, prune

HOOKED = {
    "pruned": (lambda layer: prune.l1_unstructured(layer, "weight", 0.4), prune.remove),
    "pruned twice": (
        lambda layer: prune.random_unstructured(
            prune.l1_unstructured(layer, "weight", 0.4), "weight", 0.2
        ),
        prune.remove,
    ),
    "weight norm": (nn.utils.weight_norm, nn.utils.remove_weight_norm),
    "spectral norm": (nn.utils.spectral_norm, nn.utils.remove_spectral_norm),
    "parametrized": (parametrizations.weight_norm, parametrize.remove_parametrizations),
}


def no_change(*args):
    """A hook of any kind."""


def by_pickle(module):
    return pickle.loads(pickle.dumps(module))


def by_deepcopy(module):
    module.eval()
    with flambeau.no_grad():  # what is computed is a leaf, which can be copied
        module(flambeau.ones(1, 3))
    return copy.deepcopy(module)


@pytest.mark.parametrize("name", HOOKED)
@pytest.mark.parametrize("copied", [by_pickle, by_deepcopy])
def test_a_copy_computes_trains_and_is_restored_by_itself(name, copied):
    install, remove = HOOKED[name]
    flambeau.manual_seed(0)
    module = install(nn.Linear(3, 2))
    twin = copied(module.eval())
    x = flambeau.tensor([[1.0, -2.0, 3.0]])
    before = module(x).tolist()
    assert twin(x).tolist() == before
    assert list(twin.state_dict()) == list(module.state_dict())
    with flambeau.no_grad():
        for param in twin.parameters():
            param.add_(0.25)
    assert twin(x).tolist() != before
    after = twin(x).detach().numpy()
    remove(twin, "weight")
    assert sorted(twin.state_dict()) == ["bias", "weight"]
    np.testing.assert_allclose(twin(x).detach().numpy(), after, atol=1e-6)
    assert not twin._forward_pre_hooks
    assert module(x).tolist() == before


def test_what_is_computed_with_a_graph_is_not_copied_deeply():
    module = nn.utils.weight_norm(nn.Linear(3, 2))
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(module)


@pytest.mark.parametrize(
    "kind",
    [
        "forward_hook",
        "forward_pre_hook",
        "full_backward_hook",
        "full_backward_pre_hook",
        "state_dict_pre_hook",
        "state_dict_post_hook",
        "load_state_dict_pre_hook",
        "load_state_dict_post_hook",
    ],
)
@pytest.mark.parametrize("copied", [by_pickle, copy.deepcopy])
def test_the_handle_of_a_copy_removes_the_hook_of_the_copy(kind, copied):
    module = nn.Linear(1, 1)
    module.handle = getattr(module, f"register_{kind}")(no_change)
    twin = copied(module)
    assert list(twin._hook_table) == [module.handle.id]
    twin.handle.remove()
    assert twin._hook_table is None
    assert len(module._hook_table) == 1


@pytest.mark.parametrize("with_module", [False, True])
def test_a_copy_calls_its_older_hooks_before_loading(with_module):
    seen = []
    module = nn.Linear(1, 1)
    module._register_load_state_dict_pre_hook(lambda *args: seen.append(len(args)), with_module)
    copy.deepcopy(module).load_state_dict(module.state_dict())
    assert seen == [7 + with_module]
    other = nn.Linear(1, 1)
    other._register_load_state_dict_pre_hook(no_change, with_module)
    by_pickle(other).load_state_dict(module.state_dict())


def test_a_new_hook_replaces_none_that_was_unpickled():
    module = nn.Identity()
    for _ in range(3):
        module.register_forward_hook(no_change)
    code = (
        "import pickle, sys\n"
        "module = pickle.loads(sys.stdin.buffer.read())\n"
        "for _ in range(40): module.register_forward_hook(print)\n"
        "print(len(module._hook_table))"
    )
    module._hook_table = type(module._hook_table)(
        (number, hook._replace(function=print))
        for number, hook in enumerate(module._hook_table.values())
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(module), capture_output=True, check=True
    )
    assert done.stdout == b"43\n"


def test_copies_of_a_parametrized_module_have_its_class():
    module = parametrizations.weight_norm(nn.Linear(3, 2))
    for twin in (copy.deepcopy(module), copy.copy(module), by_pickle(module)):
        assert type(twin) is type(module)
    other = parametrizations.weight_norm(nn.Linear(3, 2), "bias", dim=None)
    assert type(other) is not type(module)
