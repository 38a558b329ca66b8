"""Branches and loops on values as ONNX models: onnxruntime takes the way that Python takes."""

import numpy as np
import pytest

import flambeau as fl
from flambeau import jit, nn

pytest.importorskip("onnx", reason="needs onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")


class Halve(nn.Module):
    def forward(self, x):
        steps = 0
        while (x.abs() > 0.5).any() and steps < 20:
            x = x / 2
            steps += 1
        return x, x.new_zeros(()) + steps


class Decide(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        h = self.layer(x)
        for i in range(3):
            if h.sum() > i:
                h = nn.functional.relu(h - x.mean(0))
                while h.max() > 1:
                    h = h * 0.75 + x.shape[0]
                    if h.min() > 0.5:
                        return h
                    h = h - x.shape[0] - 0.25
            else:
                h = h + self.layer(h).tanh()
        return h


class Search(nn.Module):
    def forward(self, x, n):
        best = x[0].clone()
        for i in range(1, n):
            row = x[i]
            best = row if row.sum() > best.sum() else best
        return best * 1


def session_of(module, args, **names):
    written = fl.onnx.export(jit.script(module), args, **names)
    return onnxruntime.InferenceSession(written.SerializeToString(),
                                        providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("kind", [Halve, Decide])
@pytest.mark.parametrize("opset", [18, 21])
def test_each_run_takes_its_way(kind, opset):
    fl.manual_seed(1)
    module = kind()
    session = session_of(module, (fl.randn(2, 3),), input_names=["x"], opset_version=opset,
                         dynamic_axes={"x": {0: "batch"}})
    for n, scale in ((2, 1), (1, 9), (5, 30), (3, -4), (4, 0.01)):
        x = fl.randn(n, 3) * scale
        wanted = module(x)
        found = session.run(None, {"x": x.numpy()})
        for one, other in zip(wanted if isinstance(wanted, tuple) else [wanted], found,
                              strict=True):
            np.testing.assert_allclose(other, one.detach().numpy(), rtol=1e-5, atol=1e-5)


def test_loops_up_to_a_tensor():
    module = Search()
    x = fl.randn(6, 4)
    session = session_of(module, (x, fl.tensor(6)), input_names=["x", "n"])
    for n in (1, 3, 6):
        (found,) = session.run(None, {"x": x.numpy(), "n": np.array(n)})
        np.testing.assert_array_equal(found, module(x, n).numpy())
