"""Lazy modules: parameters at the first call, state before and after, and what is refused."""

import copy
import inspect
import pickle

import pytest
from modules_kit import close, ours, same

import flambeau
from flambeau import nn
from flambeau.nn.modules.lazy import LazyModuleMixin
from flambeau.nn.parameter import is_lazy

CASES = {
    "LazyLinear": ((5,), {}, (4, 3)),
    "LazyLinear_plain": ((5, False), {}, (2, 4, 3)),
    "LazyConv1d": ((6, 3), {"padding": 1, "groups": 2}, (2, 4, 9)),
    "LazyConv2d": ((6, 3), {"stride": 2, "bias": False}, (2, 4, 7, 8)),
    "LazyConv2d_alone": ((6, 3), {}, (4, 7, 8)),
    "LazyConv3d": ((2, 2), {"padding_mode": "circular", "padding": 1}, (2, 4, 3, 4, 5)),
    "LazyConvTranspose1d": ((6, 3), {"stride": 2, "groups": 2}, (2, 4, 9)),
    "LazyConvTranspose2d": ((6, 3), {"output_padding": 1, "stride": 2}, (2, 4, 7, 8)),
    "LazyConvTranspose3d": ((2, 2), {"dilation": 2}, (2, 4, 3, 4, 5)),
    "LazyBatchNorm1d": ((), {}, (5, 4)),
    "LazyBatchNorm2d": ((), {"momentum": None, "bias": False}, (2, 4, 7, 8)),
    "LazyBatchNorm3d": ((), {"affine": False}, (2, 4, 3, 4, 5)),
    "LazyInstanceNorm1d": ((), {}, (2, 4, 9)),
    "LazyInstanceNorm2d": ((), {"track_running_stats": False}, (2, 4, 7, 8)),
    "LazyInstanceNorm3d": ((), {"affine": False}, (2, 4, 3, 4, 5)),
}
cases = pytest.mark.parametrize("case", CASES)


def make(case, package=flambeau):
    args, options, shape = CASES[case]
    return getattr(package.nn, case.split("_")[0])(*args, **options), shape


@cases
def test_the_first_call_makes_an_ordinary_module(case):
    lazy, shape = make(case)
    eager_class = type(lazy).cls_to_become
    assert isinstance(lazy, eager_class)
    before = list(lazy.parameters())
    out = lazy(flambeau.randn(shape))
    assert type(lazy) is eager_class
    assert not hasattr(lazy, "initialize_parameters")
    assert all(a is b for a, b in zip(before, lazy.parameters(), strict=True))
    assert all(type(p) is nn.Parameter and p.requires_grad for p in lazy.parameters())
    assert "_called" not in vars(lazy)
    if before:
        out.sum().backward()
    assert all(p.grad is not None for p in lazy.parameters())


@cases
def test_it_draws_what_the_eager_module_draws(case):
    lazy, shape = make(case)
    x = flambeau.randn(shape)
    flambeau.manual_seed(3)
    lazy(x)
    size = lazy.in_features if "Linear" in case else None
    size = size or getattr(lazy, "in_channels", None) or lazy.num_features
    args, options, _ = CASES[case]
    if "InstanceNorm" in case:
        options = {"affine": True, "track_running_stats": True, **options}
    flambeau.manual_seed(3)
    eager = type(lazy)(size, *args, **options)
    assert repr(eager) == repr(lazy)
    for a, b in zip(eager.parameters(), lazy.parameters(), strict=True):
        same(a, b)


@pytest.mark.oracle
@cases
def test_against_torch(case):
    torch = pytest.importorskip("torch")
    mine, shape = make(case)
    theirs, _ = make(case, torch)
    takes = [list(inspect.signature(type(m)).parameters.values()) for m in (mine, theirs)]
    assert [[(p.name, p.default) for p in each] for each in takes][0] == [
        (p.name, p.default) for p in takes[1]
    ]
    assert repr(mine) == repr(theirs)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    x = torch.randn(shape)
    theirs(x)
    mine(ours(x))
    assert repr(mine) == repr(theirs)
    assert type(mine).__name__ == type(theirs).__name__
    assert list(mine.state_dict()) == list(theirs.state_dict())
    theirs.eval()
    mine.eval()
    mine.load_state_dict({key: ours(value) for key, value in theirs.state_dict().items()})
    close(mine(ours(x)), theirs(x), scale=5)


@cases
def test_states_in_both_directions(case):
    lazy, shape = make(case)
    x = flambeau.randn(shape)
    called, _ = make(case)
    called(x)
    called.eval()
    fresh, _ = make(case)
    fresh.load_state_dict(make(case)[0].state_dict())  # nothing to copy yet
    lazy.load_state_dict(called.state_dict())
    assert not lazy.has_uninitialized_params()
    lazy.eval()
    same(lazy(x), called(x))
    assert repr(lazy) == repr(called)
    unready = make(case)[0].state_dict()
    if any(map(is_lazy, unready.values())):
        with pytest.raises(RuntimeError, match=r"state_dict is not initialized: .* was called"):
            called.load_state_dict(unready)


@cases
@pytest.mark.parametrize("clone", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_before_the_call(case, clone):
    lazy, shape = make(case)
    lazy.double()
    twin = clone(lazy)
    assert type(twin) is type(lazy)
    out = twin(flambeau.randn(shape, dtype=flambeau.float64))
    assert out.dtype is flambeau.float64
    assert lazy.has_uninitialized_params() == any(map(is_lazy, lazy.state_dict().values()))


def test_a_norm_without_parameters_learns_its_channels_too():
    norm = nn.LazyInstanceNorm2d(affine=False, track_running_stats=False)
    norm(flambeau.randn(4, 5, 6))
    assert norm.num_features == 4
    assert type(norm) is nn.InstanceNorm2d


def test_a_network():
    net = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    assert net(flambeau.zeros(3, 1, 6, 6)).shape == (3, 2)
    assert net[3].in_features == 64
    assert type(net[1]) is nn.BatchNorm2d


def test_optimizers_keep_the_parameters():
    layer = nn.LazyLinear(2)
    weight = layer.weight
    layer(flambeau.ones(1, 3)).sum().backward()
    assert layer.weight is weight
    assert weight.grad.shape == (2, 3)


def test_frozen_stays_frozen():
    layer = nn.LazyLinear(2).requires_grad_(False)
    layer(flambeau.ones(1, 3))
    assert not layer.weight.requires_grad


def test_moving_and_converting_before_the_call():
    layer = nn.LazyBatchNorm1d(device="meta").to(flambeau.float16)
    assert layer.weight.device.type == "meta"
    assert layer.running_mean.dtype is flambeau.float16
    layer.to_empty(device="cpu")
    assert layer.weight.device.type == "cpu"
    layer(flambeau.ones(2, 3, dtype=flambeau.float16))
    assert layer.weight.dtype is flambeau.float16


def test_hooks_run_once_per_call():
    layer, seen = nn.LazyLinear(2), []
    layer.register_forward_pre_hook(lambda module, args: seen.append(type(module).__name__))
    layer(flambeau.ones(1, 3))
    layer(flambeau.ones(1, 3))
    assert seen == ["Linear", "Linear"]


def test_a_state_that_holds_a_part_is_refused():
    layer = nn.LazyLinear(2)
    layer.load_state_dict({"weight": flambeau.ones(2, 3)}, strict=False)
    with pytest.raises(RuntimeError, match="got weight from a state_dict, but not bias"):
        layer(flambeau.ones(1, 3))


def test_a_loaded_layer_says_what_it_takes():
    layer = nn.LazyConvTranspose2d(4, 3, groups=2)
    layer.load_state_dict(nn.ConvTranspose2d(6, 4, 3, groups=2).state_dict())
    layer(flambeau.zeros(1, 6, 5, 5))
    assert layer.in_channels == 6


@pytest.mark.parametrize(
    ("layer", "shape", "error", "text"),
    [
        (lambda: nn.LazyConv2d(4, 3, groups=2), (1, 3, 5, 5), ValueError, r"in_channels \(3\)"),
        (lambda: nn.LazyConv2d(4, 3), (5, 5), RuntimeError, "LazyConv2d takes an input of 3 dim"),
        (lambda: nn.LazyBatchNorm2d(), (2, 3), ValueError, r"\(N, C, H, W\), not \(2, 3\)"),
    ],
)
def test_refused_inputs(layer, shape, error, text):
    net = nn.Sequential(layer())
    with pytest.raises(error, match=text) as caught:
        net(flambeau.zeros(shape))
    assert "in model.0 (" in str(caught.value.__notes__)
    assert net[0].has_uninitialized_params()


def test_a_class_of_ones_own():
    class Scale(LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = nn.UninitializedParameter()

        def initialize_parameters(self, input):
            if self.has_uninitialized_params():
                self.factor.materialize(input.shape[-1:])
                nn.init.ones_(self.factor)

        def forward(self, input):
            return input * self.factor

    layer = Scale()
    same(layer(flambeau.ones(2, 3)), flambeau.ones(2, 3))
    same(layer(flambeau.ones(2, 3)), flambeau.ones(2, 3))
    assert type(layer) is Scale


def test_a_class_that_forgets_a_parameter():
    class Forgets(LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = nn.UninitializedParameter()

        def initialize_parameters(self, input):
            pass

    with pytest.raises(RuntimeError, match=r"Forgets left a parameter .* without a shape"):
        Forgets()(flambeau.ones(1))
    with pytest.raises(NotImplementedError, match="has no initialize_parameters"):
        type("Bare", (LazyModuleMixin, nn.Module), {})()(flambeau.ones(1))


@pytest.mark.parametrize("kind", [nn.UninitializedParameter, nn.UninitializedBuffer])
def test_tensors_without_values(kind):
    tensor = kind(dtype=flambeau.float64)
    assert repr(tensor) == f"<{kind.__name__}>"
    assert tensor.dtype is flambeau.float64
    assert tensor.device.type == "cpu"
    assert tensor in [tensor]
    assert is_lazy(copy.deepcopy(tensor))
    assert tensor.float().dtype is flambeau.float32
    for use in (
        lambda: tensor + 1,
        lambda: tensor == 1,
        lambda: tensor[0],
        lambda: len(tensor),
        lambda: float(tensor),
        lambda: tensor.sum(),
        lambda: tensor.numel(),
        lambda: nn.init.zeros_(tensor),
        lambda: tensor.numpy(),
    ):
        with pytest.raises(ValueError, match="shape is not known yet: call the module"):
            use()
    with pytest.raises(RuntimeError, match="shape of an Uninitialized"):
        tensor.shape  # noqa: B018
    with pytest.raises(RuntimeError, match="share_memory_ of an Uninitialized"):
        tensor.share_memory_()
    with pytest.raises(AttributeError):
        tensor.no_such_thing  # noqa: B018
    with pytest.raises(RuntimeError, match="meta"):
        flambeau.add(tensor, flambeau.ones(0)).tolist()
    tensor.materialize((2, 3), dtype=flambeau.float32)
    assert not is_lazy(tensor)
    assert tensor.fill_(2).sum().item() == 12 if kind is nn.UninitializedBuffer else True
    assert tensor.dtype is flambeau.float32


def test_an_optimizer_that_makes_its_state_at_once_refuses():
    optim = pytest.importorskip("flambeau.optim", reason="needs flambeau-optim")
    module = nn.LazyLinear(3)
    with pytest.raises(ValueError, match="shape is not known yet"):
        optim.Adagrad(module.parameters())
    optim.SGD(module.parameters(), lr=0.1)
