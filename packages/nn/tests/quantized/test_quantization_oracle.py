"""The same network, data and configuration in both libraries: the same scales and integers."""
from __future__ import annotations

import importlib
import io

import numpy as np
import pytest

import flambeau as fl

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def network(lib, q):
    nn = importlib.import_module(f"{lib.__name__}.nn")
    layers = importlib.import_module(f"{lib.__name__}.ao.nn.quantized")

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
            self.conv, self.norm, self.relu = nn.Conv2d(3, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.ReLU()
            self.second = nn.Conv2d(8, 8, 3, padding=1, groups=2)
            self.sum, self.pool = layers.FloatFunctional(), nn.MaxPool2d(2)
            self.average = nn.AdaptiveAvgPool2d(2)
            self.linear, self.last = nn.Linear(32, 10), nn.Linear(10, 4)
            self.swish, self.sigmoid = nn.Hardswish(), nn.Sigmoid()

        def forward(self, x):
            x = self.relu(self.norm(self.conv(self.quant(x))))
            x = self.average(self.pool(self.sum.add(x, self.second(x))))
            x = self.sigmoid(self.swish(self.linear(lib.flatten(x, 1))))
            return self.dequant(self.last(x))

    made, rng = Net(), np.random.default_rng(1)
    with lib.no_grad():
        for name, value in sorted(made.state_dict().items()):
            if value.dtype == lib.float32:
                numbers = rng.standard_normal(tuple(value.shape)).astype(np.float32) * 0.3
                numbers = np.abs(numbers) + 0.5 if "var" in name else numbers
                value.copy_(lib.from_numpy(np.asarray(numbers)))
    return made


def batches(lib, count):
    rng = np.random.default_rng(2)
    return [lib.from_numpy(rng.standard_normal((4, 3, 8, 8)).astype(np.float32) * (1 + i))
            for i in range(count)]


def both(run):
    return [run(lib, importlib.import_module(f"{lib.__name__}.ao.quantization"))
            for lib in (fl, torch)]


CONFIGS = {"x86": lambda q: q.get_default_qconfig("x86"),
           "qnnpack": lambda q: q.get_default_qconfig("qnnpack"),
           "min-max": lambda q: q.default_qconfig,
           "channels": lambda q: q.default_per_channel_qconfig}


@pytest.mark.parametrize("name", CONFIGS)
def test_static(name):
    def run(lib, q):
        made = q.fuse_modules(network(lib, q).eval(), [["conv", "norm", "relu"]])
        made.qconfig = CONFIGS[name](q)
        ready = q.prepare(made)
        *data, last = batches(lib, 5)
        for x in data:
            ready(x)
        done = q.convert(ready)
        return done, done(last).numpy()

    (ours, got), (theirs, wanted) = both(run)
    mine, other = ours.state_dict(), theirs.state_dict()
    assert sorted(mine) == sorted(other)
    for key in mine:
        if key.endswith(("scale", "zero_point")):
            assert float(mine[key]) == pytest.approx(float(other[key]), rel=1e-6), key
    for layer in ("conv", "second", "linear", "last"):
        assert np.array_equal(getattr(ours, layer).weight().int_repr().numpy(),
                              getattr(theirs, layer).weight().int_repr().numpy())
    assert np.abs(got - wanted).max() <= 1.01 * float(other["last.scale"])
    assert (got != wanted).mean() < 0.1


def test_pytorch_reads_a_quantized_state_and_the_other_way():
    def run(lib, q):
        made = q.fuse_modules(network(lib, q).eval(), [["conv", "norm", "relu"]])
        made.qconfig = q.get_default_qconfig("x86")
        ready = q.prepare(made)
        for x in batches(lib, 2 if lib is fl else 4):       # other scales
            ready(x)
        return q.convert(ready)

    ours, theirs = both(run)
    for source, target, options in ((ours, theirs, {"format": "torch"}), (theirs, ours, {})):
        lib, other = (fl, torch) if source is ours else (torch, fl)
        file = io.BytesIO()
        lib.save(source.state_dict(), file, **options)
        file.seek(0)
        target.load_state_dict(other.load(file))
        wanted, got = source(batches(lib, 1)[0]).numpy(), target(batches(other, 1)[0]).numpy()
        assert np.abs(got - wanted).max() <= 1.01 * target.last.scale


@pytest.mark.parametrize("version", [0, 1])
def test_training_with_rounding(version):
    def run(lib, q):
        optim = importlib.import_module(f"{lib.__name__}.optim")
        made = q.fuse_modules_qat(network(lib, q).train(), [["conv", "norm", "relu"]])
        made.qconfig = q.get_default_qat_qconfig("x86", version)
        ready = q.prepare_qat(made)
        keys, losses = sorted(ready.state_dict()), []
        optimizer = optim.SGD(ready.parameters(), lr=0.05)
        for x in batches(lib, 3):
            loss = (ready(x) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        done = q.convert(ready.eval())
        return keys, losses, done(batches(lib, 1)[0]).numpy()

    (keys, losses, got), (their_keys, their_losses, wanted) = both(run)
    assert keys == their_keys
    assert losses[0] == pytest.approx(their_losses[0], rel=1e-5)
    assert losses == pytest.approx(their_losses, rel=0.02)      # a rounding may fall to either side
    assert np.abs(got - wanted).max() < 0.1


def test_histograms_choose_the_same_ranges():
    rng = np.random.default_rng(3)
    for case in range(12):
        data = [(rng.standard_normal(int(rng.integers(1, 3000))) ** int(rng.integers(1, 4))
                 * rng.choice([0.1, 1, 30])).astype(np.float32) for _ in range(3)]

        def run(lib, q, data=data, case=case):
            observer = q.HistogramObserver(reduce_range=bool(case % 2), dtype=[
                lib.quint8, lib.qint8][case // 2 % 2])
            for x in data:
                observer(lib.from_numpy(x))
            return [float(each) for each in observer.calculate_qparams()]

        ours, theirs = both(run)
        assert ours == pytest.approx(theirs, rel=0.02, abs=1)
