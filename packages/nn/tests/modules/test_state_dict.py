"""Saving and loading the state of modules."""

import pytest

import flambeau
from flambeau import nn


def net(width=4):
    return nn.Sequential(nn.Linear(3, width), nn.BatchNorm1d(width), nn.Linear(width, 2))


def test_contents_and_sharing():
    model = net()
    state = model.state_dict()
    assert list(state) == [
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
        "1.running_mean",
        "1.running_var",
        "1.num_batches_tracked",
        "2.weight",
        "2.bias",
    ]
    assert not state["0.weight"].requires_grad
    assert state["0.weight"].data_ptr() == model[0].weight.data_ptr()
    assert model.state_dict(keep_vars=True)["0.weight"] is model[0].weight
    assert list(nn.ReLU().state_dict(prefix="x.")) == []
    assert list(model[2].state_dict(prefix="x.")) == ["x.weight", "x.bias"]


def test_round_trip():
    flambeau.manual_seed(1)
    source, target = net(), net()
    x = flambeau.randn(6, 3)
    source(x)
    target.load_state_dict(source.state_dict())
    assert target.eval()(x).tolist() == source.eval()(x).tolist()


def test_loading_converts_and_keeps_the_parameter():
    layer = nn.Linear(2, 1)
    weight = layer.weight
    given = {"weight": flambeau.ones(1, 2, dtype=flambeau.float64), "bias": flambeau.zeros(1)}
    layer.load_state_dict(given)
    assert layer.weight is weight
    assert layer.weight.dtype == flambeau.float32
    assert layer.weight.tolist() == [[1.0, 1.0]]


def test_assign_takes_the_tensors():
    layer = nn.Linear(2, 1)
    layer.weight.requires_grad_(False)
    weight = flambeau.ones(1, 2, dtype=flambeau.float64)
    layer.load_state_dict({"weight": weight, "bias": flambeau.zeros(1)}, assign=True)
    assert isinstance(layer.weight, nn.Parameter)
    assert layer.weight.dtype == flambeau.float64
    assert not layer.weight.requires_grad
    assert layer.weight.data_ptr() == weight.data_ptr()


def test_errors_are_listed_together_and_nothing_is_copied():
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    before = model[0].bias.tolist()
    state = dict(model.state_dict())
    state["0.weight"] = flambeau.zeros(5, 3)
    state["0.bias"] = flambeau.zeros(4)
    state["1.weigth"] = state.pop("1.weight")
    with pytest.raises(RuntimeError) as error:
        model.load_state_dict(state)
    assert str(error.value) == (
        "Error(s) in loading state_dict for Sequential:\n"
        '\tMissing key(s) in state_dict: "1.weight".\n'
        '\tUnexpected key(s) in state_dict: "1.weigth".\n'
        '\tThe state_dict has "1.weigth" where "1.weight" is expected.\n'
        "\tsize mismatch for 0.weight: the state_dict has shape (5, 3), the current model (4, 3)."
    )
    assert model[0].bias.tolist() == before


def test_a_wrapper_s_prefix_is_recognized():
    layer = nn.Linear(2, 1)
    state = {f"module.{key}": value for key, value in layer.state_dict().items()}
    with pytest.raises(RuntimeError, match=r'key\.removeprefix\("module\."\)'):
        layer.load_state_dict(state)


def test_not_strict_reports():
    layer = nn.Linear(2, 1)
    result = layer.load_state_dict({"weight": flambeau.ones(1, 2), "x": 1}, strict=False)
    assert result.missing_keys == ["bias"]
    assert result.unexpected_keys == ["x"]
    assert layer.weight.tolist() == [[1.0, 1.0]]
    assert repr(layer.load_state_dict(layer.state_dict())) == "<All keys matched successfully>"


def test_wrong_types():
    with pytest.raises(TypeError, match="takes a dict of tensors, not list"):
        nn.Linear(1, 1).load_state_dict([])
    with pytest.raises(RuntimeError, match='"weight" should be a Tensor, not float'):
        nn.Linear(1, 1).load_state_dict({"weight": 1.0, "bias": flambeau.zeros(1)})


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def get_extra_state(self):
        return {"calls": self.calls}

    def set_extra_state(self, state):
        self.calls = state["calls"]


def test_extra_state():
    source, target = nn.Sequential(Counter()), nn.Sequential(Counter())
    source[0].calls = 7
    assert list(source.state_dict()) == ["0._extra_state"]
    target.load_state_dict(source.state_dict())
    assert target[0].calls == 7
    with pytest.raises(RuntimeError, match="0._extra_state"):
        target.load_state_dict({})


class Gives(nn.Module):
    def get_extra_state(self):
        return 5


class Takes(nn.Module):
    def set_extra_state(self, state):
        self.state = state


def test_extra_state_is_asked_for_by_who_takes_it():
    with pytest.raises(RuntimeError, match=r'Unexpected key.*"_extra_state"'):
        Gives().load_state_dict(Gives().state_dict())
    with pytest.raises(RuntimeError, match=r'Missing key.*"_extra_state"'):
        Takes().load_state_dict(Takes().state_dict())
    taking = Takes()
    taking.load_state_dict(Gives().state_dict())
    assert taking.state == 5


def test_hooks_rename_and_forgive():
    layer = nn.Linear(2, 1)

    def rename(module, state, prefix, *_):
        state[prefix + "weight"] = state.pop(prefix + "w")

    handle = layer.register_load_state_dict_pre_hook(rename)
    layer.load_state_dict({"w": flambeau.ones(1, 2), "bias": flambeau.zeros(1)})
    assert layer.weight.tolist() == [[1.0, 1.0]]
    handle.remove()
    layer.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    layer.load_state_dict({"weight": flambeau.zeros(1, 2)})
    assert layer.weight.tolist() == [[0.0, 0.0]]

    def drop_bias(module, state, prefix, metadata):
        del state[prefix + "bias"]

    layer.register_state_dict_post_hook(drop_bias)
    assert list(layer.state_dict()) == ["weight"]
    seen = []
    layer.register_state_dict_pre_hook(lambda module, prefix, keep: seen.append(prefix))
    nn.Sequential(layer).state_dict()
    assert seen == ["0."]


class Renames(nn.Module):
    """Writes and reads its weight under an older name, as checkpoints of old versions do."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(flambeau.ones(2))
        self.inner = nn.Linear(1, 1)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "gamma"] = destination.pop(prefix + "weight")

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        state_dict[prefix + "weight"] = state_dict.pop(prefix + "gamma")
        super()._load_from_state_dict(state_dict, prefix, *rest)


def test_classes_that_save_and_load_themselves():
    net = nn.Sequential(Renames())
    state = net.state_dict()
    assert sorted(state) == ["0.gamma", "0.inner.bias", "0.inner.weight"]
    state["0.gamma"] = flambeau.tensor([5.0, 6.0])
    net.load_state_dict(state)
    assert net[0].weight.tolist() == [5.0, 6.0]
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "0.extra"'):
        net.load_state_dict({**state, "0.extra": flambeau.ones(1)})
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "0.inner.bias"'):
        net.load_state_dict({k: v for k, v in state.items() if k != "0.inner.bias"})
    assigned = {k: v.clone() for k, v in state.items()}
    net.load_state_dict(assigned, assign=True)
    assert net[0].weight.data_ptr() == assigned["0.gamma"].data_ptr()


def test_private_hooks():
    layer = nn.Linear(1, 1)
    layer._register_state_dict_hook(lambda module, state, prefix, meta: {"all": dict(state)})
    assert list(layer.state_dict()) == ["all"]
    layer = nn.Linear(1, 1)
    seen = []
    layer._register_load_state_dict_pre_hook(lambda state, prefix, *rest: seen.append(prefix))
    layer._register_load_state_dict_pre_hook(
        lambda module, state, prefix, *rest: seen.append(module), with_module=True
    )
    layer.load_state_dict(layer.state_dict())
    assert seen == ["", layer]


def test_hooks_that_return_what_they_may_not():
    layer = nn.Linear(1, 1)
    with (
        layer.register_state_dict_post_hook(lambda *_: {}),
        pytest.raises(RuntimeError, match="in place"),
    ):
        layer.state_dict()
    with (
        layer.register_load_state_dict_post_hook(lambda *_: 5),
        pytest.raises(RuntimeError, match="returns nothing"),
    ):
        layer.load_state_dict(layer.state_dict())


def test_numbers_that_were_saved_as_vectors():
    layer = nn.BatchNorm1d(2)
    state = layer.state_dict()
    state["num_batches_tracked"] = flambeau.tensor([7])
    layer.load_state_dict(state)
    assert layer.num_batches_tracked.item() == 7
    assert layer.num_batches_tracked.ndim == 0


class Versioned(nn.Module):
    """A class whose second version holds its weight doubled."""

    _version = 2

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(flambeau.ones(1))

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        if local_metadata.get("version", 1) < 2:
            state_dict[prefix + "weight"] = state_dict[prefix + "weight"] * 2
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


def test_versions_of_classes_travel_with_their_state():
    net = nn.Sequential(Versioned(), nn.ReLU())
    state = net.state_dict()
    assert dict(state._metadata) == {"": {"version": 1}, "0": {"version": 2}, "1": {"version": 1}}
    net.load_state_dict(state)
    assert net[0].weight.item() == 1
    net.load_state_dict(dict(state))
    assert net[0].weight.item() == 2


def test_arguments_in_order():
    layer = nn.Linear(1, 1)
    with pytest.warns(FutureWarning, match="destination, prefix"):
        state = layer.state_dict({}, "x.")
    assert list(state) == ["x.weight", "x.bias"]


def test_files_keep_states_and_parameters(tmp_path):
    """A state comes back ordered and versioned; a parameter comes back as a parameter."""
    source, target = net(), net()
    path = tmp_path / "net.safetensors"
    frozen = nn.Parameter(flambeau.ones(2), requires_grad=False)
    flambeau.save(
        {"model": source.state_dict(), "weight": source[0].weight, "frozen": frozen}, path
    )
    tree = flambeau.load(path)
    state = tree["model"]
    assert type(state) is type(source.state_dict())
    assert list(state) == list(source.state_dict())
    assert state._metadata == source.state_dict()._metadata
    target.load_state_dict(state)
    assert target[0].weight.tolist() == source[0].weight.tolist()
    assert type(tree["weight"]) is nn.Parameter
    assert tree["weight"].requires_grad
    assert type(tree["frozen"]) is nn.Parameter
    assert not tree["frozen"].requires_grad


def test_hooks_before_loading_see_their_part():
    model = nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.Linear(1, 1)))
    state = model.state_dict()
    state["1.0.old"] = state.pop("1.0.bias") + 1
    seen = []

    def rename(module, part, prefix, *rest):
        seen.extend(part)
        part[prefix + "0.bias"] = part.pop(prefix + "0.old")

    model[1].register_load_state_dict_pre_hook(rename)
    model.load_state_dict(state)
    assert seen == ["1.0.weight", "1.0.old"]
    assert model[1][0].bias.item() == state["1.0.old"].item()


class Lenient(nn.Module):
    """Its entries may be missing, as they are in files that are older than they."""

    def __init__(self):
        super().__init__()
        self.register_buffer("bound", flambeau.zeros(1))
        self.register_buffer("other", flambeau.zeros(1))

    def get_extra_state(self):
        return 5

    def set_extra_state(self, state):
        self.extra = state

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *lists):
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *lists)


@pytest.mark.parametrize("strict", [True, False])
def test_classes_that_do_not_insist_on_their_entries(strict):
    net = nn.Sequential(Lenient(), nn.Linear(1, 1))
    state = net.state_dict()
    del state["0.bound"], state["0._extra_state"]
    state["0.other"] = flambeau.ones(1)
    assert net.load_state_dict(state, strict=strict).missing_keys == []
    assert net[0].other == 1 and net[0].bound == 0 and not hasattr(net[0], "extra")
    del state["1.bias"]
    if strict:
        with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "1.bias"'):
            net.load_state_dict(state)
    else:
        assert net.load_state_dict(state, strict=False).missing_keys == ["1.bias"]
