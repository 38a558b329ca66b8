"""Networks that are quantized as graphs: integers compute what the reference graph says."""
from __future__ import annotations

import copy
import importlib
import io

import numpy as np
import pytest

import flambeau as fl
from flambeau import nn
from flambeau.ao import quantization as q
from flambeau.ao.nn import intrinsic, quantized
from flambeau.ao.quantization.quantize_fx import (
    convert_fx,
    convert_to_reference_fx,
    fuse_fx,
    prepare_fx,
    prepare_qat_fx,
)
from flambeau.nn import functional as F


def images(count=4):
    return fl.randn(count, 3, 8, 8)


def net(lib):
    layers = importlib.import_module(f"{lib.__name__}.nn")
    functional = importlib.import_module(f"{lib.__name__}.nn.functional")

    class Net(layers.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm = layers.Conv2d(3, 4, 3, padding=1), layers.BatchNorm2d(4)
            self.relu, self.pool = layers.ReLU(), layers.MaxPool2d(2)
            self.second = layers.Conv2d(4, 4, 3, padding=1)
            self.linear, self.last = layers.Linear(32, 16), layers.Linear(16, 5)

        def forward(self, x):
            x = self.relu(self.norm(self.first(x)))
            x = functional.relu(x + self.second(x))
            x = functional.adaptive_avg_pool2d(self.pool(x), 2)
            x = lib.cat([x, x], 1).flatten(1)
            x = functional.hardswish(self.linear(x))
            return self.last(lib.sigmoid(x).view(x.size(0), -1))

    made, rng = Net(), np.random.default_rng(0)
    with lib.no_grad():
        for name, value in sorted(made.state_dict().items()):
            if value.dtype == lib.float32:
                numbers = rng.standard_normal(tuple(value.shape)).astype(np.float32) * 0.3
                value.copy_(lib.from_numpy(np.asarray(
                    np.abs(numbers) + 0.5 if "var" in name else numbers)))
    return made


class Shared(nn.Module):
    """A layer that is called twice, with results of other sizes."""

    def __init__(self):
        super().__init__()
        self.layer, self.relu = nn.Linear(6, 6), nn.ReLU()

    def forward(self, x):
        return self.relu(self.layer(self.layer(x) * 5)) + 1


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.norm = nn.Linear(6, 6), nn.Linear(6, 6), nn.LayerNorm(6)

    def forward(self, x):
        left, right = self.a(x), self.b(x)
        both = left @ right.transpose(0, 1)
        return self.norm(fl.mul(left, right)) + both.mean(), left.shape[0] * right


class Functions(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.b = nn.Parameter(fl.randn(6, 6)), nn.Parameter(fl.randn(6))
        self.k = nn.Parameter(fl.randn(2, 1, 3))

    def forward(self, x):
        x = F.relu(F.linear(x, self.w, self.b))
        x = F.linear(input=x, weight=self.w, bias=None)
        x = F.conv1d(x.unsqueeze(1), self.k, stride=1, padding=1)
        return F.elu(F.leaky_relu(x, 0.2), 0.5).flatten(1)


class Partly(nn.Module):
    """What has no form in integers between what has."""

    def __init__(self):
        super().__init__()
        self.a, self.gelu, self.b = nn.Linear(6, 6), nn.GELU(), nn.Linear(6, 6)

    def forward(self, x):
        mask = (x > 0.5).unsqueeze(0)
        x = self.gelu(self.a(x))
        x = x.masked_fill(mask.squeeze(0), -1.0)
        x = self.b(fl.softmax(x - x.max(), -1))
        first, _ = fl.chunk(x, 2, dim=1)
        return first * first.size(1) + x[:, 0:1]


NETWORKS = {"images": lambda: (net(fl), images()), "shared": lambda: (Shared(), fl.randn(7, 6)),
            "branches": lambda: (Branches(), fl.randn(7, 6)),
            "functions": lambda: (Functions(), fl.randn(7, 6)),
            "partly": lambda: (Partly(), fl.randn(7, 6))}


def flat(result):
    parts = result if isinstance(result, tuple) else (result,)
    return fl.cat([part.detach().flatten() for part in parts])


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("backend", ["x86", "qnnpack"])
def test_static(name, backend):
    fl.manual_seed(3)
    network, x = NETWORKS[name]()
    ready = prepare_fx(network.eval(), q.get_default_qconfig_mapping(backend), (x,))
    wanted = flat(network(x))
    assert flat(ready(x)).sub(wanted).abs().max() < 1e-4        # observers change nothing
    reference = flat(convert_to_reference_fx(copy.deepcopy(ready))(x))
    integers = convert_fx(copy.deepcopy(ready))
    got = flat(integers(x))
    spread = float(wanted.max() - wanted.min())
    assert reference.sub(wanted).abs().mean() < 0.03 * spread
    assert got.sub(reference).abs().mean() < 0.005 * spread
    assert copy.deepcopy(integers)(x) is not None and flat(copy.deepcopy(integers)(x)).equal(got)


def kinds(model):
    modules = dict(model.named_modules())
    return [type(modules[n.target]) if n.op == "call_module" else n.target
            for n in model.graph.nodes if n.op.startswith("call_")]


def test_what_the_graph_is_made_of():
    network, x = net(fl).eval(), images()
    ready = prepare_fx(network, {"": q.default_qconfig}, (x,))
    ready(x)
    found = kinds(convert_fx(ready))
    ops = fl.ops.quantized
    assert found == [
        fl.quantize_per_tensor, intrinsic.quantized.ConvReLU2d, quantized.Conv2d, ops.add_relu,
        nn.MaxPool2d, F.adaptive_avg_pool2d, fl.cat, "flatten", quantized.Linear, ops.hardswish,
        "dequantize", fl.sigmoid, fl.quantize_per_tensor, "size", "view", quantized.Linear,
        "dequantize"]


def test_a_layer_with_two_scales_becomes_two():
    fl.manual_seed(0)
    network, x = Shared().eval(), fl.randn(7, 6)
    ready = prepare_fx(network, {"": q.default_qconfig}, (x,))
    ready(x)
    made = convert_fx(ready)
    scales = {m.scale for m in made.modules() if isinstance(m, quantized.Linear)}
    assert len(scales) == 2


def test_masks_are_not_observed():
    network, x = Partly().eval(), fl.randn(7, 6)
    ready = prepare_fx(network, q.get_default_qconfig_mapping(), (x,))
    observed = {n.args[0].name for n in ready.graph.nodes if str(n.target).startswith("activation")}
    assert "a" in observed and not observed & {"gt", "unsqueeze", "squeeze"}


@pytest.mark.parametrize("config", ["default_dynamic_qconfig", "float16_dynamic_qconfig"])
def test_dynamic(config):
    class Steps(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.linear, self.relu = nn.LSTM(6, 5), nn.Linear(5, 4), nn.ReLU()
            self.w = nn.Parameter(fl.randn(3, 4))

        def forward(self, x):
            x, _ = self.lstm(x)
            return F.linear(self.relu(self.linear(x)), self.w)

    fl.manual_seed(1)
    network, x = Steps().eval(), fl.randn(4, 2, 6)
    made = convert_fx(prepare_fx(network, {"": getattr(q, config)}, (x,)))
    assert made(x).sub(network(x)).abs().max() < 0.1
    found = kinds(made)
    assert quantized.dynamic.LSTM in found and intrinsic.quantized.dynamic.LinearReLU in found
    end = "_fp16" if "float16" in config else ""
    assert getattr(fl.ops.quantized, f"linear_dynamic{end}") in found


def test_tables():
    network = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 2)).eval()
    ids = fl.tensor([[1, 8], [0, 3]])
    mapping = q.QConfigMapping().set_object_type(nn.Embedding, q.float_qparams_weight_only_qconfig)
    made = convert_fx(prepare_fx(network, mapping, (ids,)))
    assert type(made.get_submodule("0")) is quantized.Embedding
    assert made(ids).sub(network(ids)).abs().max() < 0.05


@pytest.mark.parametrize("name", ["images", "shared", "functions"])
def test_training_with_rounding(name):
    fl.manual_seed(2)
    network, x = NETWORKS[name]()
    ready = prepare_qat_fx(network.train(), q.get_default_qat_qconfig_mapping("x86"), (x,))
    target = fl.zeros_like(flat(ready(x)))
    optimizer = importlib.import_module("flambeau.optim").SGD(ready.parameters(), 0.01)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = F.mse_loss(fl.cat([part.flatten() for part in (ready(x),)]), target)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[-1] < losses[0]
    ready.eval()
    wanted = flat(ready(x))
    got = flat(convert_fx(ready)(x))
    assert got.sub(wanted).abs().mean() < 0.03 * float(wanted.max() - wanted.min())


def test_states():
    def made():
        network = Functions().eval()
        ready = prepare_fx(network, {"": q.default_qconfig}, (x,))
        ready(x)
        return convert_fx(ready)

    x = fl.randn(7, 6)
    first, second = made(), made()
    assert "_packed_weight_0" in first.state_dict()
    file = io.BytesIO()
    fl.save(first.state_dict(), file)
    file.seek(0)
    second.load_state_dict(fl.load(file))
    assert flat(first(x)).equal(flat(second(x)))


def test_configurations_by_name_kind_and_order():
    network, x = nn.Sequential(*(nn.Linear(4, 4) for _ in range(4))).eval(), fl.randn(2, 4)
    mapping = q.QConfigMapping().set_global(None).set_object_type(nn.Linear, q.default_qconfig)
    mapping.set_module_name("1", None).set_module_name_regex("[2]", None)
    mapping.set_module_name_object_type_order("", nn.Linear, 3, None)
    ready = prepare_fx(network, mapping, (x,))
    ready(x)
    made = convert_fx(ready)
    assert [type(made.get_submodule(str(i))) for i in range(4)] == [
        quantized.Linear, nn.Linear, nn.Linear, nn.Linear]
    assert not any("qconfig" in vars(module) for module in made.modules())


def test_integers_in_and_out():
    network, x = nn.Sequential(nn.Linear(4, 4)).eval(), fl.randn(2, 4)
    custom = {"input_quantized_idxs": [0], "output_quantized_idxs": [0]}
    ready = prepare_fx(network, {"": q.default_qconfig}, (x,), prepare_custom_config=custom)
    ready(x)
    made = convert_fx(ready)
    given = fl.quantize_per_tensor(x, 0.05, 60, fl.quint8)
    assert made(given).is_quantized
    assert made(given).dequantize().sub(network(x)).abs().max() < 0.2


def test_fusing_keeps_layers_that_differ_behind():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.a, self.b = nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3), nn.BatchNorm2d(3)

        def forward(self, x):
            return self.b(self.conv(self.a(self.conv(x))))

    network, x = Twice().eval(), images()
    network.b.running_mean.fill_(2.0)
    assert fuse_fx(network)(x).sub(network(x)).abs().max() < 1e-5


def test_what_is_refused():
    network = nn.Sequential(nn.Linear(4, 4)).eval()
    with pytest.raises(ValueError, match="But found 'object_typo'"):
        prepare_fx(network, {"object_typo": []}, None)
    with pytest.raises(ValueError, match="was not prepared"):
        convert_fx(fuse_fx(network))
    with pytest.raises(NotImplementedError, match="equalized"):
        prepare_fx(network, {}, None, None, {})


# ---- the same in PyTorch -------------------------------------------------------------------------
def run(lib, train, mapping):
    fx = importlib.import_module(f"{lib.__name__}.ao.quantization.quantize_fx")
    settings = importlib.import_module(f"{lib.__name__}.ao.quantization")
    rng = np.random.default_rng(1)
    data = [lib.from_numpy(rng.standard_normal((4, 3, 8, 8)).astype(np.float32))
            for _ in range(4)]
    network = net(lib).train(train)
    configs = getattr(settings, f"get_default_{'qat_' if train else ''}qconfig_mapping")(mapping)
    prepare = fx.prepare_qat_fx if train else fx.prepare_fx
    ready = prepare(network, configs, (data[0],))
    for x in data:
        ready(x)
    ready.eval()
    made = fx.convert_fx(ready)
    return made, made(data[-1]).detach().numpy()


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("mapping", ["x86", "qnnpack"])
def test_against_pytorch(train, mapping):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    ours, got = run(fl, train, mapping)
    theirs, wanted = run(torch, train, mapping)
    mine, other = ours.get_submodule("last"), theirs.get_submodule("last")
    assert mine.scale == pytest.approx(other.scale, rel=0.02)
    assert np.abs(got - wanted).max() <= 3.01 * other.scale
    assert np.abs(got - wanted).mean() <= other.scale
    modules = dict(theirs.named_modules())
    names = [type(modules[n.target]).__name__ if n.op == "call_module"
             else getattr(n.target, "__name__", n.target) for n in theirs.graph.nodes
             if n.op.startswith("call_")]
    found = [getattr(kind, "__name__", kind) for kind in kinds(ours)]
    integers = ("ConvReLU2d", "Conv2d", "Linear", "add_relu", "hardswish", "MaxPool2d", "cat")
    assert [n for n in found if n in integers] == [n for n in names if n in integers]


def test_what_is_left_out_stays_floats():
    """Also between integers, where it could be computed by them."""
    class Between(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.norm, self.b = nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 4)

        def forward(self, x):
            x = self.a(x)
            return self.b(self.norm(fl.add(x, x)))

    mapping = q.QConfigMapping().set_object_type(nn.Linear, q.default_qconfig)
    network, x = Between().eval(), fl.randn(3, 4)
    ready = prepare_fx(network, mapping, (x,))
    ready(x)
    made = convert_fx(ready)
    assert fl.add in kinds(made) and type(made.norm) is nn.LayerNorm
    assert type(made.b) is quantized.Linear
