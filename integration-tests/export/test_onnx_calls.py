"""How `onnx.export` is called: names, keyword arguments, sizes that vary, files, PyTorch's way."""

import io
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import pytest

import flambeau as fl
from flambeau import nn
from flambeau.export import Dim

onnx = pytest.importorskip("onnx", reason="needs onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")


class Scores(OrderedDict):
    """As libraries return results: a mapping with attributes, some of them None."""


@dataclass
class Result:
    scores: fl.Tensor
    hidden: fl.Tensor | None = None


class Model(nn.Module):
    def __init__(self, kind=dict):
        super().__init__()
        self.linear, self.norm, self.kind = nn.Linear(4, 3), nn.BatchNorm1d(3), kind
        self.seen = []

    def forward(self, x, y=None, *, scale=1.0, extra=None):
        self.seen.append(fl.onnx.is_in_onnx_export())
        z = self.norm(self.linear(x))
        if y is not None:
            z = z + y
        if extra is not None:
            z = z * extra["a"] + extra["b"][0]
        return self.kind(scores=z * scale, hidden=None) if self.kind is not tuple else (
            z, {"sums": [z.sum(1), z.sum(0)]})


def run(written, *tensors):
    proto = getattr(written, "model_proto", written)
    session = onnxruntime.InferenceSession(proto.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    return session.run(None, {each.name: t.numpy() for each, t in zip(
        session.get_inputs(), tensors, strict=True)})


def shapes(written):
    return {each.name: tuple(d.dim_param or d.dim_value for d in each.type.tensor_type.shape.dim)
            for each in written.graph.input}


N, X, Y = Dim("N"), fl.ones(2, 4), fl.ones(2, 3)
EXTRA = {"a": fl.full((2, 3), 2.0), "b": [fl.full((2, 3), 3.0)]}
FORMS = {
    "axes": ((X, Y), {"dynamic_axes": {"x": {0: "N"}, "y": {0: "N"}}}),
    "negative axes": ((X, Y), {"dynamic_axes": {"x": {-2: "N"}, "y": {-2: "N"}}}),
    "axes of outputs": ((X, Y), {"dynamic_axes": {"x": {0: "N"}, "y": {0: "N"}, "o": {0: "N"}},
                                 "output_names": ["o"]}),
    "shapes by name": ((X, Y), {"dynamic_shapes": {"x": {0: "N"}, "y": {0: "N"}}}),
    "dims by name": ((X, Y), {"dynamic_shapes": {"x": {0: N}, "y": {0: N}}}),
    "dims in order": ((X, Y), {"dynamic_shapes": ({0: N}, (N, None))}),
    "static dims": ((X, Y), {"dynamic_shapes": ({0: N, 1: Dim.STATIC}, (N, 3))}),
    "numbers": ((X, Y), {"dynamic_shapes": {0: {0: "N"}, 1: {0: "N"}}}),
    "keywords": ((X,), {"kwargs": {"y": Y}, "dynamic_shapes": {"x": {0: N}, "y": {0: N}}}),
    "keywords in a dict": ((X, {"y": Y, "scale": 1.0}),
                           {"dynamic_shapes": ({0: N}, {0: N}, None)}),
}


@pytest.mark.parametrize("form", FORMS)
def test_sizes_that_vary(form):
    args, given = FORMS[form]
    model = Model().eval()
    written = fl.onnx.export(model, args, **given)
    assert shapes(written) == {"x": ("N", 4), "y": ("N", 3)}
    fl.manual_seed(0)
    for rows in (1, 2, 5):
        x, y = fl.randn(rows, 4), fl.randn(rows, 3)
        np.testing.assert_allclose(run(written, x, y)[0], model(x, y)["scores"].detach(), atol=1e-5)


@pytest.mark.parametrize("given", [
    {"dynamic_axes": {"x": [0], "y": [0]}}, {"dynamic_axes": {"x": [0], "y": {0: "batch size"}}},
    {"dynamic_shapes": ({0: Dim.AUTO}, {0: Dim.DYNAMIC})}])
def test_sizes_without_names_are_the_same_where_they_have_to_be(given):
    written = fl.onnx.export(Model().eval(), (X, Y), **given)
    assert len({size[0] for size in shapes(written).values()}) == 1
    assert run(written, fl.ones(5, 4), fl.ones(5, 3))[0].shape == (5, 3)


def test_one_label_for_two_sizes():
    written = fl.onnx.export(lambda a, b: (a + 1, b + 1), (fl.ones(2), fl.ones(3)),
                             dynamic_axes={"a": {0: "n"}, "b": {0: "n"}})
    assert [each.shape for each in run(written, fl.ones(5), fl.ones(7))] == [(5,), (7,)]


def test_an_example_of_one_row():
    written = fl.onnx.export(Model(), fl.ones(1, 4), dynamic_axes={"x": {0: "batch"}})
    assert run(written, fl.ones(7, 4))[0].shape == (7, 3)


def test_nested_arguments():
    model = Model().eval()
    written = fl.onnx.export(model, (X, Y), kwargs={"extra": EXTRA}, dynamic_shapes={
        "x": {0: N}, "y": {0: N}, "extra": {"a": {0: N}, "b": [{0: N}]}})
    assert list(shapes(written)) == ["x", "y", "extra_a", "extra_b_0"]
    fl.manual_seed(0)
    given = fl.randn(5, 4), fl.randn(5, 3), fl.randn(5, 3), fl.randn(5, 3)
    wanted = model(*given[:2], extra={"a": given[2], "b": [given[3]]})["scores"]
    np.testing.assert_allclose(run(written, *given)[0], wanted.detach(), atol=1e-5)


@pytest.mark.parametrize("names", [None, ["first", "second"]])
def test_keyword_arguments_keep_their_order(names):
    def function(late, early=None, *, between):
        return late - early, between

    late, early, between = fl.ones(2, 3), fl.full((2, 3), 5.0), fl.zeros(4)
    written = fl.onnx.export(function, (), kwargs={
        "late": late, "early": early, "between": between}, input_names=names,
        dynamic_shapes={"late": {0: "n"}, "early": {0: "n"}, "between": {0: "m"}})
    first, second = names or ("late", "early")
    assert shapes(written) == {first: ("n", 3), second: ("n", 3), "between": ("m",)}
    assert (run(written, fl.ones(5, 3), early[:1].expand(5, 3), fl.zeros(7))[0] == -4).all()


@pytest.mark.parametrize("kind", [dict, Scores, Result, tuple])
def test_results(kind):
    model = Model(kind).eval()
    written = fl.onnx.export(model, (X,))
    assert len(written.graph.output) == (3 if kind is tuple else 1)
    wanted = model(X)
    assert type(wanted) is kind
    wanted = wanted[0] if kind is tuple else wanted.scores if kind is Result else wanted["scores"]
    np.testing.assert_allclose(run(written, X)[0], wanted.detach(), atol=1e-5)


def test_a_module_is_exported_in_evaluation_mode_and_stays_in_its_own():
    model = Model()
    model.linear.eval()
    written = fl.onnx.export(model, (X,))
    assert "BatchNormalization" in {node.op_type for node in written.graph.node}
    assert model.training and model.norm.training and not model.linear.training
    assert set(model.seen) == {True}
    assert not fl.onnx.is_in_onnx_export()


def test_programs_of_export_keep_their_names():
    program = fl.export.export(Model(tuple).eval(), (X, Y))
    assert list(shapes(fl.onnx.export(program))) == ["x", "y"]


def test_files_and_weights(tmp_path):
    fl.manual_seed(0)
    model, x = nn.Linear(40, 40), fl.randn(2, 40)
    buffer = io.BytesIO()
    fl.onnx.export(model, x, buffer)
    assert onnx.load_model_from_string(buffer.getvalue()).graph.input[0].name == "input"
    both = fl.onnx.export(model, x, keep_initializers_as_inputs=True)
    assert list(shapes(both)) == ["input", "weight", "bias"] and len(both.graph.initializer) == 2
    without = fl.onnx.export(model, x, export_params=False)
    assert list(shapes(without)) == ["input", "weight", "bias"]
    np.testing.assert_allclose(run(without, x, model.weight.detach(), model.bias.detach())[0],
                               model(x).detach(), atol=1e-5)
    for _ in range(2):
        fl.onnx.export(model, x, tmp_path / "linear.onnx", external_data=True)
        assert 6400 <= (tmp_path / "linear.onnx.data").stat().st_size < 12800
        np.testing.assert_allclose(fl.onnx.load(tmp_path / "linear.onnx")(x).detach(),
                                   model(x).detach(), atol=1e-5)


def test_an_onnx_program(tmp_path):
    model = nn.Linear(4, 3)
    program = fl.onnx.export(model, X, dynamo=True)
    assert isinstance(program, fl.onnx.ONNXProgram) and program.graph.input[0].name == "input"
    program.optimize()
    np.testing.assert_allclose(program(X)[0].detach(), model(X).detach(), atol=1e-5)
    program.save(tmp_path / "a.onnx")
    assert fl.onnx.load(tmp_path / "a.onnx").input_names == ("input",)


def test_forms_of_operators():
    twice = fl.core.register_op("onnx_calls_twice(Operand x)", "x * 2")
    fl.onnx.register_custom_op_symbolic(
        "aten::onnx_calls_twice",
        lambda g, x: g.op("Mul", x, g.op("Constant", value_t=fl.tensor(3.0))))
    try:
        assert (run(fl.onnx.export(lambda x: twice(x), X), X)[0] == 3).all()
        fl.onnx.register_custom_op_symbolic(
            "aten::onnx_calls_twice",
            lambda g, x: g.op("maker::Twice", x, times_i=2, mode_s="a"))
        written = fl.onnx.export(lambda x: twice(x), X)
        node = next(node for node in written.graph.node if node.domain == "maker")
        assert {a.name for a in node.attribute} == {"times", "mode"}
        assert "maker" in {each.domain for each in written.opset_import}
    finally:
        fl.onnx.unregister_custom_op_symbolic("aten::onnx_calls_twice")
    assert (run(fl.onnx.export(lambda x: twice(x), X), X)[0] == 2).all()


def test_operators_of_libraries_are_what_they_compute():
    twice = fl.library.custom_op("onnxcalls::twice", lambda x: x * 2, mutates_args=(),
                                 schema="(Tensor x) -> Tensor")
    assert (run(fl.onnx.export(lambda x: twice(x), X), X)[0] == 2).all()


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match=r"names z; the arguments are x, y"):
        fl.onnx.export(Model(), (X, Y), dynamic_shapes={"z": {0: N}})
    with pytest.raises(ValueError, match="1 entries for 2 arguments"):
        fl.onnx.export(Model(), (X, Y), dynamic_shapes=({0: N},))
    with pytest.raises(ValueError, match="'integers' or 'qdq'"):
        fl.onnx.export(Model(), X, quantized="int8")
    with pytest.raises(TypeError, match="register_custom_op_symbolic"):
        fl.onnx.export(Model(), X, custom_translation_table={"a": 1})
    with pytest.raises(ValueError, match="namespace"):
        fl.onnx.register_custom_op_symbolic("twice", lambda g, x: x)
