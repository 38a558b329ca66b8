"""One name, registered again as the same or as another kind of member."""

import copy
import pickle

import pytest

import flambeau
from flambeau import nn

STEPS = {
    "parameter": lambda m: setattr(m, "a", nn.Parameter(flambeau.zeros(2))),
    "module": lambda m: setattr(m, "a", nn.Identity()),
    "None": lambda m: setattr(m, "a", None),
    "tensor": lambda m: setattr(m, "a", flambeau.ones(2)),
    "saved": lambda m: m.register_buffer("a", flambeau.ones(2)),
    "unsaved": lambda m: m.register_buffer("a", flambeau.ones(2), persistent=False),
    "saved None": lambda m: m.register_buffer("a", None),
    "unsaved None": lambda m: m.register_buffer("a", None, persistent=False),
    "Buffer": lambda m: setattr(m, "a", nn.Buffer(flambeau.ones(2))),
    "unsaved Buffer": lambda m: setattr(m, "a", nn.Buffer(flambeau.ones(2), persistent=False)),
    "saved with an unsaved Buffer": lambda m: m.register_buffer(
        "a", nn.Buffer(flambeau.ones(2), persistent=False), persistent=True
    ),
    "delete": lambda m: delattr(m, "a"),
    "delete item": lambda m: m._buffers.pop("a"),
    "set item": lambda m: m._buffers.__setitem__("a", flambeau.ones(2)),
    "mark as saved": lambda m: m._non_persistent_buffers_set.discard("a"),
}


def after(*steps):
    module = nn.Module()
    for step in steps:
        STEPS[step](module)
    return module


# Each was run in PyTorch: the steps, and whether state_dict contains the buffer in the end.
@pytest.mark.parametrize(
    ("steps", "is_saved"),
    [
        (("unsaved", "saved"), True),
        (("saved", "unsaved"), False),
        (("saved", "unsaved", "saved"), True),
        (("unsaved", "tensor"), False),
        (("unsaved", "None", "tensor"), False),
        (("unsaved None", "tensor"), False),
        (("unsaved None", "saved"), True),
        (("saved None", "unsaved None", "tensor"), False),
        (("unsaved", "delete", "saved"), True),
        (("saved", "delete", "unsaved"), False),
        (("unsaved", "Buffer"), True),
        (("saved", "unsaved Buffer"), False),
        (("unsaved", "saved with an unsaved Buffer"), True),
        (("unsaved", "delete item", "set item"), False),
        (("unsaved", "delete item", "saved"), True),
        (("unsaved", "delete", "set item"), True),
        (("unsaved", "parameter", "delete", "set item"), True),
        (("unsaved", "mark as saved"), True),
    ],
)
def test_the_last_registration_says_whether_a_buffer_is_saved(steps, is_saved):
    module = after(*steps)
    assert [name for name, _ in module.named_buffers()] == ["a"]
    for each in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert list(each.state_dict()) == ["a"] * is_saved
        assert ("a" in each._non_persistent_buffers_set) is not is_saved
    result = after("saved").load_state_dict(module.state_dict(), strict=False)
    assert result.missing_keys == ["a"] * (not is_saved)


@pytest.mark.parametrize(
    ("steps", "kinds"),
    [
        (("unsaved", "parameter"), "p"),
        (("module", "parameter"), "p"),
        (("saved", "module"), "m"),
        (("saved", "delete", "module"), "m"),
        (("parameter", "delete", "saved"), "b"),
        (("parameter", "delete", "module", "parameter"), "p"),
        (("tensor", "parameter"), "p"),
        (("tensor", "module"), "m"),
    ],
)
def test_a_name_is_one_kind_of_member(steps, kinds):
    module = after(*steps)
    found = "p" * len(module._parameters) + "b" * len(module._buffers) + "m" * len(module._modules)
    assert found == kinds


@pytest.mark.parametrize("first", ["parameter", "module"])
@pytest.mark.parametrize("second", ["module", "saved", "Buffer", "unsaved Buffer", "tensor"])
def test_a_parameter_or_module_is_deleted_before_another_kind_takes_its_name(first, second):
    if first == second:
        return
    module = after(first)
    with pytest.raises((TypeError, KeyError), match="'a'"):
        STEPS[second](module)
    assert len(module._parameters) + len(module._modules) == 1
    assert not module._buffers
    assert not module._non_persistent_buffers_set


def test_an_item_of_another_kind_hides_or_is_hidden():
    module = after("saved")
    module._parameters["a"] = None
    assert module.a is None
    del module._parameters["a"]
    assert module.a.tolist() == [1, 1]


@pytest.mark.parametrize("made", [nn.Parameter, nn.Buffer])
@pytest.mark.parametrize("name", ["a.b", "", "forward"])
def test_names_that_an_assignment_refuses(made, name):
    module = nn.Module()
    with pytest.raises(KeyError, match="dot|empty|already exists"):
        setattr(module, name, made(flambeau.zeros(1)))
    assert not module.state_dict()
    with pytest.raises(KeyError, match="dot"):
        nn.ParameterDict({"a.b": nn.Parameter(flambeau.zeros(1))})
