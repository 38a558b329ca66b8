"""Walking modules, paths, modes, printing, and errors that say where."""

import pytest

import flambeau
from flambeau import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.encoder(x))


def test_named_modules_and_children():
    net = Net()
    assert [path for path, _ in net.named_modules()] == [
        "",
        "encoder",
        "encoder.0",
        "encoder.1",
        "head",
    ]
    assert list(net.children()) == [net.encoder, net.head]
    assert len(list(net.modules())) == 5


def test_a_shared_module_is_walked_once():
    net = Net()
    net.again = net.encoder
    assert "again" not in dict(net.named_modules())
    assert "again" in dict(net.named_modules(remove_duplicate=False))
    assert len(list(net.children())) == 2


def test_apply_goes_children_first():
    order = []
    net = Net()
    assert net.apply(lambda module: order.append(type(module).__name__)) is net
    assert order == ["Linear", "ReLU", "Sequential", "Linear", "Net"]


def test_paths():
    net = Net()
    assert net.get_submodule("encoder.0") is net.encoder[0]
    assert net.get_submodule("") is net
    assert net.get_parameter("encoder.0.bias") is net.encoder[0].bias
    net.set_submodule("encoder.1", nn.Tanh())
    assert isinstance(net.encoder[1], nn.Tanh)
    with pytest.raises(AttributeError, match="did you mean 'encoder'"):
        net.get_submodule("encodr.0")
    with pytest.raises(AttributeError, match=r"Linear has no parameter 'weigth'.*'weight'"):
        net.get_parameter("head.weigth")
    with pytest.raises(AttributeError, match="no buffer"):
        net.get_buffer("head.weight")
    with pytest.raises(ValueError, match="empty"):
        net.set_submodule("", nn.Tanh())
    with pytest.raises(AttributeError):
        net.set_submodule("nothing", nn.Tanh(), strict=True)


def test_train_and_eval_reach_everything():
    net = Net()
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    net.train()
    assert all(module.training for module in net.modules())
    with pytest.raises(ValueError, match="True or False"):
        net.train("yes")


def test_requires_grad_and_zero_grad():
    net = Net()
    net(flambeau.randn(2, 3)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert all(p.grad.abs().sum().item() == 0 for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_printing():
    assert repr(Net()) == (
        "Net(\n"
        "  (encoder): Sequential(\n"
        "    (0): Linear(in_features=3, out_features=4, bias=True)\n"
        "    (1): ReLU()\n"
        "  )\n"
        "  (head): Linear(in_features=4, out_features=2, bias=True)\n"
        ")"
    )
    assert repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])) == (
        "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)"
    )


def test_forward_must_be_defined():
    class Empty(nn.Module):
        pass

    with pytest.raises(NotImplementedError, match=r"Empty has no forward\(\)"):
        Empty()(1)


def notes_of(call):
    with pytest.raises(Exception) as error:
        call()
    return error.value.__notes__


def test_an_error_names_the_module_path():
    net = Net()
    assert notes_of(lambda: net(flambeau.zeros(2, 5))) == ["in model.encoder.0 (Linear)"]
    assert notes_of(lambda: net.head(flambeau.zeros(2, 5))) == ["in Linear"]


def test_an_error_of_the_root_names_its_class():
    class Broken(Net):
        def forward(self, x):
            raise RuntimeError("broken")

    assert notes_of(lambda: Broken()(1)) == ["in Broken"]


def test_an_error_from_a_module_outside_the_tree_keeps_its_own_name():
    outside = nn.Linear(3, 3)

    class Uses(nn.Module):
        def forward(self, x):
            return outside(x)

    assert notes_of(lambda: Uses()(flambeau.zeros(1, 2))) == ["in Linear"]


def test_modules_that_occur_twice():
    shared = nn.ReLU()
    net = nn.Sequential(shared, nn.Tanh(), shared)
    assert len(list(net.modules())) == 3
    assert len(list(net.modules(remove_duplicate=False))) == 4
    with pytest.raises(ValueError, match="puts a module, not int"):
        net.set_submodule("0", 3)


def test_set_state():
    layer = nn.Linear(2, 3)
    twin = nn.Linear.__new__(nn.Linear)
    twin.__setstate__(layer.__dict__.copy())
    assert twin.weight is layer.weight
