"""Registering, replacing, deleting and copying parameters, buffers and submodules."""

import copy
import pickle
import weakref

import pytest

import flambeau
from flambeau import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2)
        self.register_buffer("mean", flambeau.zeros(2))
        self.register_buffer("scratch", flambeau.ones(1), persistent=False)
        self.rate = 0.5

    def forward(self, x):
        return self.second(self.first(x)) * self.rate + self.mean


def names(module):
    return [name for name, _ in module.named_parameters()]


def test_assignment_registers_by_type():
    net = Net()
    assert names(net) == ["first.weight", "first.bias", "second.weight", "second.bias"]
    assert [name for name, _ in net.named_buffers()] == ["mean", "scratch"]
    assert [name for name, _ in net.named_children()] == ["first", "second"]


def test_a_member_is_a_plain_attribute():
    net = Net()
    assert net.__dict__["first"] is net.first
    assert not hasattr(nn.Module, "__getattr__")        # each read would be slower


def test_views_are_live_both_ways():
    net = Net()
    net._parameters["extra"] = nn.Parameter(flambeau.zeros(1))
    assert "extra" in dict(net.named_parameters())
    assert net.extra is net._parameters["extra"]
    del net._modules["second"]
    assert not hasattr(net, "second")
    assert list(net._modules) == ["first"]
    assert len(net._buffers) == 2
    with pytest.raises(KeyError):
        net._buffers["first"]


def test_reassigning_keeps_the_order():
    net = Net()
    net.first = nn.Linear(3, 4, bias=False)
    assert names(net) == ["first.weight", "second.weight", "second.bias"]


def test_a_name_changes_its_kind():
    net = nn.Module()
    net.x = 3
    net.x = nn.Parameter(flambeau.zeros(1))
    assert names(net) == ["x"]
    del net.x
    net.x = nn.ReLU()
    assert names(net) == []
    assert [name for name, _ in net.named_children()] == ["x"]


def test_none_keeps_the_name_reserved():
    layer = nn.Linear(2, 2)
    layer.bias = None
    assert layer.bias is None
    assert names(layer) == ["weight"]
    layer.bias = nn.Parameter(flambeau.zeros(2))
    assert names(layer) == ["weight", "bias"]


def test_deleting_forgets():
    net = Net()
    del net.first
    del net.mean
    del net.rate
    assert names(net) == ["second.weight", "second.bias"]
    assert list(net.state_dict()) == ["second.weight", "second.bias"]
    with pytest.raises(AttributeError, match="first"):
        net.first  # noqa: B018


def test_a_buffer_may_be_replaced_by_any_tensor():
    net = Net()
    net.mean = flambeau.ones(2)
    assert "mean" in net.state_dict()
    with pytest.raises(TypeError, match="cannot assign float as buffer 'mean' of Net"):
        net.mean = 1.0


def test_buffer_class_registers_itself():
    module = nn.Module()
    module.kept = nn.Buffer(flambeau.zeros(1))
    module.dropped = nn.Buffer(flambeau.zeros(1), persistent=False)
    assert list(module.state_dict()) == ["kept"]
    assert len(list(module.buffers())) == 2


def test_tied_parameters_are_listed_once():
    net = Net()
    net.third = nn.Linear(4, 2)
    net.third.weight = net.second.weight
    assert "third.weight" not in names(net)
    assert "third.weight" in dict(net.named_parameters(remove_duplicate=False))
    assert "third.weight" in net.state_dict()


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_whole_and_independent(clone):
    net = Net()
    net.third = nn.Linear(4, 2)
    net.third.weight = net.second.weight
    net.first.weight.requires_grad_(False)
    twin = clone(net)
    assert list(twin.state_dict()) == list(net.state_dict())
    assert isinstance(twin.first.weight, nn.Parameter)
    assert not twin.first.weight.requires_grad
    assert twin.second.weight.requires_grad
    assert twin.third.weight is twin.second.weight
    x = flambeau.randn(5, 3)
    assert twin(x).tolist() == net(x).tolist()
    with flambeau.no_grad():
        net.second.weight.fill_(0)
    assert twin.second.weight.abs().sum().item() > 0


def test_deepcopy_of_parameter_and_buffer():
    param = nn.Parameter(flambeau.ones(2), requires_grad=False)
    twin = copy.deepcopy(param)
    assert isinstance(twin, nn.Parameter)
    assert not twin.requires_grad
    buffer = copy.deepcopy(nn.Buffer(flambeau.ones(2), persistent=False))
    assert isinstance(buffer, nn.Buffer)
    assert buffer.persistent is False


def test_operators_give_plain_tensors():
    param = nn.Parameter(flambeau.ones(2))
    assert type(param + 1) is type(flambeau.ones(1) + 1)
    assert not isinstance(param * 2, nn.Parameter)


def test_parameter_shares_memory_and_prints():
    data = flambeau.zeros(2)
    param = nn.Parameter(data)
    data.fill_(3)
    assert param.tolist() == [3, 3]
    assert repr(param) == "Parameter containing:\ntensor([3., 3.], requires_grad=True)"


def test_assigning_before_init_is_explained():
    class Forgot(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"call super\(\)\.__init__\(\) first in Forgot"):
        Forgot()


def test_a_plain_tensor_in_place_of_a_parameter_is_explained():
    layer = nn.Linear(2, 2)
    with pytest.raises(TypeError) as error:
        layer.weight = flambeau.zeros(2, 2)
    assert str(error.value) == (
        f"cannot assign {type(flambeau.zeros(1)).__name__} as parameter 'weight' of Linear: write "
        "nn.Parameter(value) to replace the parameter, or weight.copy_(value) under "
        "flambeau.no_grad() to change its values"
    )


@pytest.mark.parametrize(
    ("name", "error"),
    [("", "empty"), ("a.b", "dot"), ("forward", "already exists in Module")],
)
@pytest.mark.parametrize("kind", ["parameter", "buffer", "module"])
def test_bad_names(kind, name, error):
    module = nn.Module()
    value = {
        "parameter": nn.Parameter(flambeau.zeros(1)),
        "buffer": flambeau.zeros(1),
        "module": nn.ReLU(),
    }[kind]
    with pytest.raises(KeyError, match=error):
        getattr(module, f"register_{kind}")(name, value)


@pytest.mark.parametrize("kind", ["parameter", "buffer", "module"])
def test_bad_values(kind):
    with pytest.raises(TypeError, match=f"cannot assign int as {kind} 'x' of Module"):
        getattr(nn.Module(), f"register_{kind}")("x", 3)
    with pytest.raises(TypeError, match="takes a Tensor, not list"):
        nn.Parameter([1.0])


def test_dir_lists_members_but_no_numbers():
    assert "first" in dir(Net())
    assert "0" not in dir(nn.Sequential(nn.ReLU()))


def test_members_are_read_backwards_and_copied():
    net = Net()
    members = [("first", net.first), ("second", net.second)]
    assert list(reversed(net._modules)) == ["second", "first"]
    assert list(reversed(net._modules.items())) == members[::-1]
    assert list(reversed(net._modules.values())) == [net.second, net.first]
    assert list(net._modules.items()) == members
    copied = net._modules.copy()
    del net.first
    assert list(copied.items()) == members


class Seen(nn.Module):
    """Sees reads of its members, as in PyTorch."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 1)
        self.weight = nn.Parameter(flambeau.ones(2))
        self.register_buffer("mean", flambeau.zeros(2))
        self.plain = 3

    def __getattr__(self, name):
        found = super().__getattr__(name) if name != "other" else 5
        vars(self).setdefault("seen", []).append(name)
        return found


def test_a_class_with_getattr_sees_reads_of_members():
    net = Seen()
    assert (net.plain, net.other, net.mean.tolist(), net.inner.in_features) == (3, 5, [0, 0], 2)
    assert (net.weight * 2).tolist() == [2, 2]
    assert net.seen == ["other", "mean", "inner", "weight"]
    with pytest.raises(AttributeError, match="'Seen' object has no attribute 'absent'"):
        net.absent  # noqa: B018
    assert names(net) == ["weight", "inner.weight", "inner.bias"]
    assert list(net.state_dict()) == ["weight", "mean", "inner.weight", "inner.bias"]


def test_a_method_may_call_getattr():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(flambeau.ones(2))

        def named(self, name):
            return self.__getattr__(name)

    assert Named().named("weight").tolist() == [1, 1]
    with pytest.raises(AttributeError, match="absent"):
        Named().named("absent")


def test_members_of_a_class_that_answer_no_questions():
    class Closed(type):
        def __getattr__(cls, name):
            raise LookupError(name)

    class Holder(nn.Module):
        options = Closed("Options", (), {})

    assert Holder().options.__name__ == "Options"


def test_a_class_with_getattr_has_views_in_its_dict():
    net = Seen()
    assert list(net.__dict__["_modules"]) == ["inner"]
    assert net.__dict__["_parameters"]["weight"] is net.weight
    again = copy.deepcopy(net)
    again.weight = nn.Parameter(flambeau.zeros(1))
    assert again.__dict__["_parameters"]["weight"].tolist() == [0]
    assert net.weight.tolist() == [1, 1]
    assert pickle.loads(pickle.dumps(net)).inner.weight.equal(net.inner.weight)


def test_a_mixin_with_getattr_falls_back_to_what_is_wrapped():
    class Falls:
        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(super().__getattr__("inner"), name)

    class Wrapper(Falls, nn.Module):
        def __init__(self):
            nn.Module.__init__(self)
            self.inner = nn.Linear(2, 1)

        def forward(self, x):
            return self.inner(x)

    class Below(Wrapper):
        pass

    net = Below()
    assert (net.in_features, net.training, net(flambeau.ones(1, 2)).shape) == (2, True, (1, 1))
    alive = weakref.ref(net)
    net.__dict__  # noqa: B018
    del net
    assert alive() is None


class Asks(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def __getattr__(self, name):
        return super().__getattr__(name)


class ReturnsDict(Asks):
    def __getstate__(self):
        return self.__dict__


class ReplacesDict(ReturnsDict):
    def __setstate__(self, state):
        self.__dict__ = state


@pytest.mark.parametrize("kind", [Asks, ReturnsDict, ReplacesDict])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_classes_that_give_their_dict_away(kind, copied):
    net = kind()
    made = copied(net)
    made.other = nn.Linear(1, 1)
    assert list(made._modules) == ["inner", "other"] and list(net._modules) == ["inner"]
    assert made._modules["other"] is made.other and made.inner is not net.inner
    assert list(made.state_dict())[2:] == ["other.weight", "other.bias"]


def test_a_parameter_may_have_the_name_of_a_property_without_a_value():
    """As in PyTorch: the base class assigns what the derived class computes from another."""
    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = nn.Parameter(flambeau.ones(1))

    class Derived(Base):
        def __init__(self):
            super().__init__()
            self.c = nn.Parameter(flambeau.ones(1) * 2)

        @property
        def k(self):
            return -self.c

    net = Derived()
    assert net.k.item() == -2 and list(net.state_dict()) == ["k", "c"]
    with pytest.raises(KeyError):
        net.forward = nn.Parameter(flambeau.ones(1))


def test_members_of_one_kind_are_replaced():
    net = nn.Linear(2, 1)
    net.register_buffer("seen", flambeau.ones(1))
    net._parameters = {"gain": nn.Parameter(flambeau.ones(3))}
    net._modules = {"inner": nn.Identity()}
    net._buffers = {}
    assert list(net.state_dict()) == ["gain"] and list(net._modules) == ["inner"]
    assert not hasattr(net, "weight") and not hasattr(net, "seen")
