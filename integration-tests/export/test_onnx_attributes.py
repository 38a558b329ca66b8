"""Networks that leave tensors in attributes while they compute, as ONNX models."""

import pytest

import flambeau as fl
from flambeau import nn

pytest.importorskip("onnx", reason="needs onnx")
pytest.importorskip("onnxruntime", reason="needs onnxruntime")
from onnx_models import against_onnxruntime, written


class Pyramid(nn.Module):
    """Builds what it reads afterwards, as networks of optical flow do."""

    def __init__(self):
        super().__init__()
        self.levels = [fl.tensor(0.0)]
        self.conv = nn.Conv2d(2, 3, 3)

    def build(self, x):
        self.levels = [self.conv(x)]
        self.levels.append(nn.functional.avg_pool2d(self.levels[0], 2))
        self.last = {"sum": x.sum()}

    def forward(self, x):
        self.build(x)
        return sum(each.mean((2, 3)) for each in self.levels) + self.last["sum"]


class Recurrent(nn.Module):
    """Keeps its state from call to call."""

    def __init__(self):
        super().__init__()
        self.state = fl.zeros(2, 3)

    def forward(self, x):
        self.state = self.state * 0.5 + x
        return self.state


def test_what_a_call_leaves_for_itself_is_no_part_of_the_model():
    network, x = Pyramid().eval(), fl.randn(2, 2, 9, 9)
    before = network.levels
    with fl.no_grad():
        wanted = network(x)
        network.levels = before
        model = written(network, x, dynamic_axes={"x": {0: "n"}})
        assert network.levels is before, "the attribute is what it was"
        assert not fl.isnan(network.last["sum"])
        for count in (2, 5):
            given = fl.randn(count, 2, 9, 9)
            against_onnxruntime(model, given.numpy())
        assert fl.allclose(fl.onnx.load(model)(x), wanted, atol=1e-6)


def test_state_that_is_read_is_refused():
    with pytest.raises(fl.onnx.ExportError, match="left in an attribute"):
        written(Recurrent().eval(), fl.randn(2, 3))
